/** The part of autocannon's programmatic interface that the bench uses; the package brings no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events'

  /** What a connection asks for its next request. */
  export interface RequestIterator {
    currentRequest: { requestBuffer: Buffer }
    resetted: boolean
    nextRequest(): void
    recordBody(): void
  }

  export interface Client {
    requestIterator: RequestIterator
  }

  export interface Options {
    readonly url: string
    readonly connections: number
    /** Seconds. */
    readonly duration: number
    /** Milliseconds between two looks at whether the time is over. */
    readonly sampleInt: number
    /** Seconds that a response may take. */
    readonly timeout: number
    readonly maxOverallRequests?: number
    readonly skipAggregateResult: true
    readonly setupClient: (client: Client) => void
  }

  export interface Result {
    /** Sent requests, and responses within the time. */
    readonly totalRequests: number
    readonly totalCompletedRequests: number
    readonly errors: number
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
  }

  export default function autocannon(options: Options): EventEmitter & PromiseLike<Result>
}
