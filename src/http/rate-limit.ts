import type { FastifyReply, FastifyRequest } from 'fastify'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { Failure } from '../errors.ts'
import type { Caller } from '../keys/keyring.ts'
import { networkOf } from './client-network.ts'

const windowSeconds = 60
/** Failed authentications that one client address may make in a window. */
const failuresPerAddress = 300
/** Addresses counted apart from each other; the rest of a larger crowd share one count. */
const countedAddresses = 100_000

type Policy = 'key' | 'address'

/**
 * Fixed windows of a minute: requests by key, failed authentications by client address. Every answer of the API says
 * how much is left, in the de-facto `X-RateLimit-*` headers and those of the IETF draft (draft-ietf-httpapi-ratelimit-headers).
 */
export class RateLimits {
  readonly enabled: boolean
  readonly #limits: Readonly<Record<Policy, number>>
  readonly #byKey: RateLimiterMemory
  readonly #byAddress: RateLimiterMemory
  readonly #addresses = new Set<string>()
  readonly #timer: NodeJS.Timeout

  /** `requestsPerMinute` is for each key; 0 turns all limits off. */
  constructor(requestsPerMinute: number) {
    this.enabled = requestsPerMinute > 0
    this.#limits = { key: requestsPerMinute, address: failuresPerAddress }
    this.#byKey = new RateLimiterMemory({ points: requestsPerMinute, duration: windowSeconds })
    this.#byAddress = new RateLimiterMemory({ points: failuresPerAddress, duration: windowSeconds })
    this.#timer = setInterval(() => this.#addresses.clear(), windowSeconds * 1000).unref()
  }

  /** Counts a request of the key; the failure when it is past the limit. */
  async spend(caller: Caller, reply: FastifyReply): Promise<Failure | undefined> {
    const state = await this.#byKey.penalty(caller.key)
    this.#announce(reply, 'key', state)
    if (state.consumedPoints <= this.#limits.key) return undefined
    return exceeded(state, 'The API key has used up its requests of this minute.')
  }

  /**
   * Counts a failed authentication of the client's address; the failure when it is past the limit. A good key works
   * even then, so that nobody is locked out by a neighbour.
   */
  async refuse(request: FastifyRequest, reply: FastifyReply): Promise<Failure | undefined> {
    const state = await this.#byAddress.penalty(this.#addressKey(request))
    this.#announce(reply, 'address', state)
    if (state.consumedPoints <= this.#limits.address) return undefined
    return exceeded(state, 'Too many failed authentications from this address in this minute.')
  }

  /** Says what is left for the client's address, where an answer of the API was given before any key was asked for. */
  async announceAddress(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (!this.enabled || reply.hasHeader('ratelimit') || !request.url.startsWith('/api/')) return
    this.#announce(reply, 'address', await this.#byAddress.penalty(this.#addressKey(request), 0))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #addressKey(request: FastifyRequest): string {
    const network = networkOf(request.ip)
    if (this.#addresses.has(network)) return network
    if (this.#addresses.size >= countedAddresses) return 'crowd'
    this.#addresses.add(network)
    return network
  }

  #announce(reply: FastifyReply, policy: Policy, state: RateLimiterRes): void {
    const limit = this.#limits[policy]
    const remaining = Math.max(0, limit - state.consumedPoints)
    const seconds = secondsLeft(state)
    reply.headers({
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-reset': Math.ceil((Date.now() + state.msBeforeNext) / 1000),
      'ratelimit-policy': `"${policy}";q=${limit};w=${windowSeconds}`,
      ratelimit: `"${policy}";r=${remaining};t=${seconds}`,
    })
  }
}

function secondsLeft(state: RateLimiterRes): number {
  return Math.max(1, Math.ceil(state.msBeforeNext / 1000))
}

function exceeded(state: RateLimiterRes, detail: string): Failure {
  return new Failure('rate_limited', `${detail} Wait as long as Retry-After says.`, { retryAfter: secondsLeft(state) })
}
