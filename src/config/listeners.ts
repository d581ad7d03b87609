/**
 * Where the process listens.
 */
import { isIP } from 'node:net'
import { integerFrom, type Read } from './read.ts'

/** What can listen, and how: in the order in which it starts. */
const declaredListeners = [
  { name: 'api', prefix: '', host: '127.0.0.1', port: 3000, isPerWorker: false, isOptional: false },
  { name: 'redirect', prefix: 'REDIRECT_', host: '127.0.0.1', port: 3080, isPerWorker: false, isOptional: true },
  { name: 'ops', prefix: 'OPS_', host: '127.0.0.1', port: 3090, isPerWorker: true, isOptional: true },
] as const

export type ListenerName = (typeof declaredListeners)[number]['name']

/** Where a listener listens. */
export interface Place {
  readonly name: ListenerName
  /** How its variables begin: `OPS_` for `OPS_HOST` and `OPS_PORT`. */
  readonly prefix: string
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Whether each worker has a port of its own, one after the other; otherwise the workers share the port. */
  readonly isPerWorker: boolean
}

/** The places of the listeners that are turned on, and how many processes share them. */
export interface Listeners {
  readonly listeners: readonly Place[]
  /** Processes that answer requests. */
  readonly workers: number
}

/** Reads where each listener listens. No two may want the same port. */
export function readListeners(read: Read): Listeners {
  const workers = read('WORKERS', '1', integerFrom(1, 64))
  const places: Place[] = []
  for (const { isOptional, ...declared } of declaredListeners.toReversed()) {
    const { prefix, isPerWorker } = declared
    const host = read(`${prefix}HOST`, declared.host, hostName)
    const port = read(`${prefix}PORT`, String(declared.port), (text) => {
      const port = integerFrom(0, isPerWorker ? 65_536 - (workers ?? 1) : 65_535)(text)
      const other = places.find((place) => mayMeet(place, { host, port, isPerWorker }, workers))
      if (other === undefined) return port
      const name = `${other.prefix}PORT`
      const taken = other.isPerWorker && workers > 1 ? `one of the ${workers} ports that begin with ${name}` : name
      throw new Error(`must not be ${taken}, ${other.port}: choose another one.`)
    })
    if (port > 0 || !isOptional) places.unshift({ ...declared, host, port })
  }
  return { listeners: places, workers }
}

/** The address by which a browser on this machine reaches a listener: that of the machine itself has a name. */
export function localUrlOf({ host, port }: Pick<Place, 'host' | 'port'>): string {
  const name = /^(0\.0\.0\.0|::|127\.0\.0\.1|::1)$/.test(host) ? 'localhost' : host
  return `http://${isIP(name) === 6 ? `[${name}]` : name}:${port}`
}

type Ports = Pick<Place, 'host' | 'port' | 'isPerWorker'>

/** Whether two listeners could want the same port of the same address. A variable that is wrong meets nothing. */
function mayMeet(one: Ports, other: Ports, workers: number): boolean {
  const hosts = [one.host, other.host].map((name) => (name === 'localhost' ? '127.0.0.1' : name))
  const share = hosts.some((name) => /^(0\.0\.0\.0|::)$/.test(name)) || hosts[0] === hosts[1]
  const end = ({ port, isPerWorker }: Ports) => port + (isPerWorker ? workers : 1)
  return share && one.port > 0 && other.port > 0 && one.port < end(other) && other.port < end(one)
}

function hostName(text: string): string {
  const name = /^\[([\da-f:.]+)\]$/i.exec(text)?.[1] ?? text
  if (isIP(name) !== 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(name)) return name
  throw new Error('must be an address to listen on, such as 127.0.0.1 or 0.0.0.0.')
}
