import type { IncomingMessage } from 'node:http'
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

  readAddress(request: IncomingMessage): string {
    if (this.#isTrusted === null) return request.socket.remoteAddress ?? ''
    return all(request, this.#isTrusted).at(-1) ?? ''
  }

  /** Returns the requested host; empty if the request has none. */
  readHost(request: IncomingMessage): string {
    return this.#forwarded(request, 'x-forwarded-host')?.at(-1) ?? request.headers.host ?? ''
  }

  /** Returns `http`, `https`, or any other text that a proxy sent: the first value, which is the scheme of the visitor. */
  readProtocol(request: IncomingMessage): string {
    return this.#forwarded(request, 'x-forwarded-proto')?.at(0)?.toLowerCase() ?? 'http'
  }

  /** Returns the values, the last of which the nearest proxy added; undefined if it is not trusted or sent no value. */
  #forwarded({ headers, socket }: IncomingMessage, name: 'x-forwarded-host' | 'x-forwarded-proto') {
    if (this.#isTrusted === null) return undefined
    const value = headers[name]
    if (typeof value !== 'string' || value === '' || !this.#isTrusted(socket.remoteAddress ?? '', 0)) return undefined
    return value.split(',').map((each) => each.trim())
  }
}
