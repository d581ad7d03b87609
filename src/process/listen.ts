import { once } from 'node:events'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'
import { formatLocalUrl, formatUrl, type ListenerConfig } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'

export interface Listening {
  readonly port: number
  /** The URL for clients on this machine. It has `localhost` for 127.0.0.1 and for wildcard addresses. */
  readonly url: string
  /** The URL with the bound address. */
  readonly boundUrl: string
  /** Whether other machines can connect at every address of this machine. */
  readonly isPublic: boolean
}

type Address = Pick<ListenerConfig, 'host' | 'port' | 'prefix'>

/** Starts to listen on one address, by default without sharing the port. Throws `StartupFailure`. */
export async function listen(
  server: Server,
  config: Address,
  sharing: Pick<ListenOptions, 'exclusive' | 'reusePort'> = { exclusive: true },
): Promise<Listening> {
  try {
    server.listen({ host: config.host, port: config.port, ...sharing })
    await once(server, 'listening')
  } catch (error) {
    throw new StartupFailure(reason(error as NodeJS.ErrnoException, config))
  }
  const { address: host, port } = server.address() as AddressInfo
  const isPublic = host === '0.0.0.0' || host === '::'
  return { port, url: formatLocalUrl({ host, port }), boundUrl: formatUrl({ host, port }), isPublic }
}

/** Throws `StartupFailure` if a port is in use. Sockets that share a port would not notice. */
export async function ensureFree(addresses: readonly Address[]): Promise<void> {
  const servers: Server[] = []
  try {
    for (const address of addresses) {
      const server = createServer()
      await listen(server, address)
      servers.push(server)
    }
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  }
}

function reason({ code, message }: NodeJS.ErrnoException, { host, port, prefix }: Address): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is already in use. Stop the other process, or set ${prefix}PORT to another port.`
    case 'EACCES':
      return `This user isn't allowed to open port ${port}. Set ${prefix}PORT to a port from 1024 to 65535.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${prefix}HOST=${host} isn't an address of this machine. Use 127.0.0.1, or 0.0.0.0 to listen on all of its addresses.`
    default:
      return `Can't listen on port ${port} at ${host}: ${message}. Check ${prefix}HOST and ${prefix}PORT.`
  }
}
