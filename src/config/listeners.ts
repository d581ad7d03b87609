import { isIPv6 } from 'node:net'
import { integer } from './parsers.ts'
import type { Read } from './variables.ts'

/** The listeners in the order in which they start. */
const declaredListeners = [
  { name: 'api', prefix: '', isPerWorker: false, isOptional: false },
  { name: 'redirect', prefix: 'REDIRECT_', isPerWorker: false, isOptional: true },
  { name: 'ops', prefix: 'OPS_', isPerWorker: true, isOptional: true },
] as const

export type ListenerName = (typeof declaredListeners)[number]['name']

export interface ListenerConfig {
  readonly name: ListenerName
  /** The prefix of its variables: `OPS_` for `OPS_HOST` and `OPS_PORT`. */
  readonly prefix: string
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Whether each worker listens on its own port, numbered from `port`. Otherwise all workers share one port. */
  readonly isPerWorker: boolean
}

/** Reads which listeners are enabled, and how many processes serve requests. Ports must not collide. */
export function readListeners(read: Read) {
  const workers = read('WORKERS')
  const listeners: ListenerConfig[] = []
  for (const { isOptional, ...declared } of declaredListeners.toReversed()) {
    const { prefix, isPerWorker } = declared
    const host = read(`${prefix}HOST`)
    const port = read(`${prefix}PORT`, (port) => {
      if (isPerWorker) integer(0, 65_536 - (workers ?? 1))(String(port))
      const other = listeners.find((other) => collide(other, { host, port, isPerWorker }, workers))
      if (other === undefined) return
      const name = `${other.prefix}PORT`
      const taken = other.isPerWorker && workers > 1 ? `one of the ${workers} ports from ${name}` : name
      throw new Error(`must not be ${taken}, ${other.port}. Choose another port.`)
    })
    if (port > 0 || !isOptional) listeners.unshift({ ...declared, host, port })
  }
  return { listeners, workers }
}

/** Returns the URL of a listener for clients on this machine: with `localhost`, unless only another address is bound. */
export function localUrlOf({ host, port }: Pick<ListenerConfig, 'host' | 'port'>): string {
  const name = /^(0\.0\.0\.0|::|127\.0\.0\.1)$/.test(host) ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

type Ports = Pick<ListenerConfig, 'host' | 'port' | 'isPerWorker'>

/** Returns whether two listeners could need the same port of the same IP address; false if a variable is invalid. */
function collide(one: Ports, other: Ports, workers: number): boolean {
  const hosts = [one.host, other.host].map((name) => (name === 'localhost' ? '127.0.0.1' : name))
  const shareHost = hosts.some((name) => /^(0\.0\.0\.0|::)$/.test(name)) || hosts[0] === hosts[1]
  const end = ({ port, isPerWorker }: Ports) => port + (isPerWorker ? workers : 1)
  return shareHost && one.port > 0 && other.port > 0 && one.port < end(other) && other.port < end(one)
}
