import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import { all, compile } from '@fastify/proxy-addr'

/** Whether the address, at that number of hops from this server, belongs to a trusted proxy. */
type IsTrusted = (address: string, hop: number) => boolean

/** Reads the client address, host and scheme of requests, which trusted proxies report in `X-Forwarded-*`. */
export class Proxies {
  readonly #isTrusted: IsTrusted | null

  /** `trusted` is the number of proxies in a row, or their addresses and networks, or false for none. */
  constructor(trusted: false | number | string[]) {
    if (trusted === false) this.#isTrusted = null
    else this.#isTrusted = typeof trusted === 'number' ? (_, hop) => hop < trusted : compile(trusted)
  }

  /** Returns the IP address of the client. */
  addressOf(request: IncomingMessage): string {
    if (this.#isTrusted === null) return request.socket.remoteAddress ?? ''
    return all(request, this.#isTrusted).at(-1) ?? ''
  }

  /** Returns the requested host; empty if the request has none. */
  hostOf(request: IncomingMessage): string {
    return this.#forwarded(request, 'x-forwarded-host') ?? request.headers.host ?? ''
  }

  /** Returns `http`, `https`, or any other text that a proxy sent. */
  protocolOf(request: IncomingMessage): string {
    return this.#forwarded(request, 'x-forwarded-proto') ?? 'http'
  }

  /** Returns the last value, which the nearest proxy added; undefined if it is not trusted or sent no value. */
  #forwarded({ headers, socket }: IncomingMessage, name: 'x-forwarded-host' | 'x-forwarded-proto'): string | undefined {
    if (this.#isTrusted === null) return undefined
    const value = headers[name]
    if (typeof value !== 'string' || value === '' || !this.#isTrusted(socket.remoteAddress ?? '', 0)) return undefined
    return value.slice(value.lastIndexOf(',') + 1).trim()
  }
}

/**
 * Returns the network of a client address: an IPv4 address itself, including one mapped into IPv6, or the /64 of an IPv6
 * address, because clients usually have a whole /64 (RFC 6177 §2). Returns `unknown` for any other text.
 */
export function networkOf(forwarded: string): string {
  const address = addressIn(forwarded)
  if (!isIPv6(address)) return isIP(address) === 4 ? address : 'unknown'
  return `${expanded(address).slice(0, 4).join(':')}::/64`
}

/** Returns a forwarded client address without its port, and an IPv4 address that is mapped into IPv6 as IPv4. */
export function addressIn(forwarded: string): string {
  const address = withoutPort(forwarded)
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Some proxies forward the client's port too. */
function withoutPort(forwarded: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(forwarded)?.[1] ?? /^([\d.]+):\d+$/.exec(forwarded)?.[1] ?? forwarded
}

/** Returns the eight groups of an IPv6 address, without leading zeros. */
function expanded(address: string): string[] {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const before = groups(head)
  if (tail === undefined) return before
  const after = groups(tail)
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
}

function groups(text: string): string[] {
  if (text === '') return []
  return text.split(':').map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}
