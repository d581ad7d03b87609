import { Failure } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { hasHeader, setHeader } from '../http/response.ts'
import { toNetwork } from '../lib/ip-address.ts'
import { RateCounter, type RateLimitUsage, windowMs } from '../limits/rate-counter.ts'
import { CountSync } from '../limits/store.ts'
import type { Db } from '../storage/port.ts'

/** Failed authentications per window and client network. */
const maxFailures = 300

type Policy = 'key' | 'session' | 'address'

export const rateLimitDetails: Readonly<Record<Policy, string>> = {
  key: 'The API key has used up its requests of this minute. Wait as long as Retry-After says.',
  session: 'Your browser has sent more requests in this minute than the server allows. Try again in a minute.',
  address: 'Too many attempts from this address have failed in this minute. Try again in a minute.',
}

/** Rate limits, shared by all processes on the database. The headers follow draft-ietf-httpapi-ratelimit-headers. */
export class RateLimits {
  /** Requests per minute for each key and each session, or null if there is no limit. */
  readonly perMinute: number | null
  readonly #limits: Readonly<Record<Policy, number>>
  readonly #counters: Readonly<Record<Policy, RateCounter>>
  readonly #sync: CountSync

  /** `requestsPerMinute` applies to each key and each session; 0 turns all limits off. */
  constructor(requestsPerMinute: number, db: Db) {
    this.perMinute = requestsPerMinute > 0 ? requestsPerMinute : null
    this.#limits = { key: requestsPerMinute, session: requestsPerMinute, address: maxFailures }
    const hurry = () => this.#sync.hurry()
    const perKey = { limit: requestsPerMinute, publishShare: 0.01, maxSubjects: 1_000_000 }
    // A client may have many addresses, so a few failures of one address are not published.
    const perAddress = { limit: maxFailures, publishShare: 0.1, maxSubjects: 100_000 }
    this.#counters = {
      key: new RateCounter(perKey, hurry),
      session: new RateCounter(perKey, hurry),
      address: new RateCounter(perAddress, hurry),
    }
    this.#sync = new CountSync(db, this.#counters)
  }

  /** Starts to synchronize counts with the other processes on the database. */
  start(): void {
    if (this.perMinute !== null) this.#sync.start()
  }

  close(): Promise<void> {
    return this.#sync.close()
  }

  /** Counts a request of an API key or a dashboard session. Returns `rate_limited` above the limit. */
  countRequest(policy: 'key' | 'session', id: number, exchange: Exchange): Failure | undefined {
    return this.#count(policy, String(id), 1, exchange)
  }

  /**
   * Counts a request, which has been counted once, as several. Returns `rate_limited` if too few are left, and then counts
   * none. More than the limit count as the limit.
   */
  countUnits(policy: 'key' | 'session', id: number, units: number, exchange: Exchange): Failure | undefined {
    const counted = Math.min(units, this.#limits[policy])
    const limited = this.#count(policy, String(id), counted - 1, exchange)
    if (limited !== undefined) this.#add(policy, String(id), -counted, exchange)
    return limited
  }

  /** Counts a failed authentication of the network. Valid keys are not affected, so that clients can't lock out others. */
  countFailedAuthentication(exchange: Exchange): Failure | undefined {
    return this.#count('address', toNetwork(exchange.clientAddress), 1, exchange)
  }

  /** Adds the headers of the client's network to a response that did not require a key. */
  addNetworkHeaders(exchange: Exchange): void {
    if (this.perMinute === null || hasHeader(exchange, 'ratelimit')) return
    this.#add('address', toNetwork(exchange.clientAddress), 0, exchange)
  }

  #count(policy: Policy, subject: string, requests: number, exchange: Exchange): Failure | undefined {
    if (this.perMinute === null) return undefined
    const usage = this.#add(policy, subject, requests, exchange)
    if (usage.used <= this.#limits[policy]) return undefined
    return new Failure('rate_limited', rateLimitDetails[policy], { retryAfter: secondsLeft(usage) })
  }

  #add(policy: Policy, subject: string, requests: number, exchange: Exchange): RateLimitUsage {
    const usage = this.#counters[policy].add(subject, requests)
    const limit = this.#limits[policy]
    const remaining = Math.max(0, limit - usage.used)
    setHeader(exchange, 'x-ratelimit-limit', String(limit))
    setHeader(exchange, 'x-ratelimit-remaining', String(remaining))
    setHeader(exchange, 'x-ratelimit-reset', String(Math.ceil((Date.now() + usage.msLeft) / 1000)))
    setHeader(exchange, 'ratelimit-policy', `"${policy}";q=${limit};w=${windowMs / 1000}`)
    setHeader(exchange, 'ratelimit', `"${policy}";r=${remaining};t=${secondsLeft(usage)}`)
    return usage
  }
}

function secondsLeft({ msLeft }: RateLimitUsage): number {
  return Math.ceil(msLeft / 1000)
}
