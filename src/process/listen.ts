import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, isIPv6 } from 'node:net'
import type { App } from '../app.ts'
import { StartupFailure } from '../errors.ts'

/** Where a server listens. */
export interface Listening {
  readonly port: number
  /** The address as it was bound. */
  readonly url: string
  /** An address under which this machine reaches it, also when every address was bound. */
  readonly localUrl: string
}

/**
 * Listens on one address; with `reusePort`, other sockets of this user may share the port. Throws `StartupFailure` when
 * it cannot be bound.
 */
export async function listen({ server }: App, host: string, port: number, reusePort = false): Promise<Listening> {
  try {
    // A name is resolved here, since Fastify would make a second server for a second address of `localhost`.
    const { address } = await lookup(host)
    // Fastify passes on what its types do not name.
    const options = { host: address, port, reusePort }
    await server.listen(options)
  } catch (error) {
    throw new StartupFailure(reason(error as NodeJS.ErrnoException, host, port))
  }
  const bound = server.server.address() as AddressInfo
  return {
    port: bound.port,
    url: urlOf(bound.address, bound.port),
    localUrl: urlOf(loopbackOf(bound.address), bound.port),
  }
}

/** Throws `StartupFailure` when another program has the port: sockets that share a port would not notice. */
export async function ensureFree(host: string, port: number): Promise<void> {
  const server = createServer()
  try {
    const { address } = await lookup(host)
    await once(server.listen({ host: address, port, exclusive: true }), 'listening')
  } catch (error) {
    throw new StartupFailure(reason(error as NodeJS.ErrnoException, host, port))
  }
  await new Promise((resolve) => server.close(resolve))
}

function reason({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use by another process. Stop that process, or set PORT to another port.`
    case 'EACCES':
      return `Port ${port} may not be opened by this user. Set PORT to a port from 1024 to 65535.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST ${host} is no address of this machine. Set HOST to 127.0.0.1, or to 0.0.0.0 for all of its addresses.`
    default:
      return `The server cannot listen on port ${port} of ${host}: ${message}. Set HOST and PORT.`
  }
}

function loopbackOf(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  return address === '::' ? '::1' : address
}

function urlOf(address: string, port: number): string {
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}
