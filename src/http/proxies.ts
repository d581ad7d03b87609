import type { IncomingMessage } from 'node:http'
import { all, compile } from '@fastify/proxy-addr'

/** Whether the address, at that number of hops from this server, belongs to a trusted proxy. */
type IsTrusted = (address: string, hop: number) => boolean

/** What a request says of itself, and what trusted proxies say of it in `X-Forwarded-*`. */
export class Proxies {
  readonly #isTrusted: IsTrusted | null

  /** `trusted`: none, how many there are in a row, or their addresses and networks. */
  constructor(trusted: false | number | string[]) {
    if (trusted === false) this.#isTrusted = null
    else this.#isTrusted = typeof trusted === 'number' ? (_, hop) => hop < trusted : compile(trusted)
  }

  /** The address of the client. */
  addressOf(request: IncomingMessage): string {
    if (this.#isTrusted === null) return request.socket.remoteAddress ?? ''
    return all(request, this.#isTrusted).at(-1) ?? ''
  }

  /** The host that the client asked; empty when it did not say. */
  hostOf(request: IncomingMessage): string {
    return this.#forwarded(request, 'x-forwarded-host') ?? request.headers.host ?? ''
  }

  /** `http` or `https`, unless a proxy says something else. */
  protocolOf(request: IncomingMessage): string {
    return this.#forwarded(request, 'x-forwarded-proto') ?? 'http'
  }

  /** The last value, which is that of the nearest proxy; undefined when that is none, or says nothing. */
  #forwarded({ headers, socket }: IncomingMessage, name: 'x-forwarded-host' | 'x-forwarded-proto'): string | undefined {
    if (this.#isTrusted === null) return undefined
    const value = headers[name]
    if (typeof value !== 'string' || value === '' || !this.#isTrusted(socket.remoteAddress ?? '', 0)) return undefined
    return value.slice(value.lastIndexOf(',') + 1).trim()
  }
}
