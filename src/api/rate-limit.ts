import { Failure } from '../errors.ts'
import { networkOf } from '../http/client-address.ts'
import type { Exchange } from '../http/exchange.ts'
import { addHeader, hasHeader } from '../http/response.ts'
import type { Caller } from '../keys/keyring.ts'
import { Counts, type Standing, windowMs } from '../limits/counts.ts'
import { Sharing } from '../limits/sharing.ts'
import type { Db } from '../storage/port.ts'

/** Failed authentications that one client address may make in a window. */
const failuresPerAddress = 300
/** Subjects that are counted apart from each other; those beyond share one count. */
const maxKeys = 1_000_000
const maxAddresses = 100_000
/**
 * Shares of the limit by which processes may lag behind each other. Addresses are many, and a client may have many of
 * them: a few failures of one are not worth telling the other processes.
 */
const toldOfKeys = 0.01
const toldOfAddresses = 0.1

type Policy = 'key' | 'session' | 'address'

/**
 * Fixed windows of a minute: requests by key and by session of the dashboard, failed authentications by client address,
 * counted together with the other processes on the database. Every answer of the API says how much is left, in the de-facto
 * `X-RateLimit-*` headers and in those of the IETF draft (draft-ietf-httpapi-ratelimit-headers).
 */
export class RateLimits {
  /** Requests a minute for each key, and for each session; null if there is no limit. */
  readonly perMinute: number | null
  readonly #limits: Readonly<Record<Policy, number>>
  readonly #counts: Readonly<Record<Policy, Counts>>
  readonly #sharing: Sharing

  /** `requestsPerMinute` is for each key and each session; 0 turns all limits off. */
  constructor(requestsPerMinute: number, db: Db) {
    this.perMinute = requestsPerMinute > 0 ? requestsPerMinute : null
    this.#limits = { key: requestsPerMinute, session: requestsPerMinute, address: failuresPerAddress }
    const onWorthTelling = () => this.#sharing.hurry()
    const ofKeys = { limit: requestsPerMinute, toldShare: toldOfKeys, maxSubjects: maxKeys }
    this.#counts = {
      key: new Counts(ofKeys, onWorthTelling),
      session: new Counts(ofKeys, onWorthTelling),
      address: new Counts(
        { limit: failuresPerAddress, toldShare: toldOfAddresses, maxSubjects: maxAddresses },
        onWorthTelling,
      ),
    }
    this.#sharing = new Sharing(db, this.#counts)
  }

  /** Begins to share counts with the other processes on the database. */
  begin(): void {
    if (this.perMinute !== null) this.#sharing.begin()
  }

  /** Counts a request of the key; the failure that answers it if it is past the limit. */
  spend(caller: Caller, exchange: Exchange): Failure | undefined {
    const detail = 'The API key has used up its requests of this minute. Wait as long as Retry-After says.'
    return this.#charge('key', String(caller.key), exchange, detail)
  }

  /** Counts a request of a session of the dashboard; the failure that answers it if it is past the limit. */
  spendOfSession(session: number, exchange: Exchange): Failure | undefined {
    const detail = 'Your browser has sent more requests in this minute than the server allows. Try again in a minute.'
    return this.#charge('session', String(session), exchange, detail)
  }

  /**
   * Counts a failed authentication of the client's address; the failure that answers it if it is past the limit. A good
   * key works even then, so that no one is locked out by a neighbour.
   */
  refuse(exchange: Exchange): Failure | undefined {
    const detail = 'Too many attempts from this address have failed in this minute. Try again in a minute.'
    return this.#charge('address', networkOf(exchange.clientAddress), exchange, detail)
  }

  /** Says what is left for the client's address, on an answer that was given before any key was asked for. */
  announceAddress(exchange: Exchange): void {
    if (this.perMinute === null || hasHeader(exchange, 'ratelimit')) return
    this.#add('address', networkOf(exchange.clientAddress), 0, exchange)
  }

  close(): Promise<void> {
    return this.#sharing.close()
  }

  #charge(policy: Policy, subject: string, exchange: Exchange, detail: string): Failure | undefined {
    if (this.perMinute === null) return undefined
    const standing = this.#add(policy, subject, 1, exchange)
    if (standing.used <= this.#limits[policy]) return undefined
    return new Failure('rate_limited', detail, { retryAfter: secondsLeft(standing) })
  }

  #add(policy: Policy, subject: string, requests: number, exchange: Exchange): Standing {
    const standing = this.#counts[policy].add(subject, requests)
    const limit = this.#limits[policy]
    const remaining = Math.max(0, limit - standing.used)
    addHeader(exchange, 'x-ratelimit-limit', String(limit))
    addHeader(exchange, 'x-ratelimit-remaining', String(remaining))
    addHeader(exchange, 'x-ratelimit-reset', String(Math.ceil((Date.now() + standing.msLeft) / 1000)))
    addHeader(exchange, 'ratelimit-policy', `"${policy}";q=${limit};w=${windowMs / 1000}`)
    addHeader(exchange, 'ratelimit', `"${policy}";r=${remaining};t=${secondsLeft(standing)}`)
    return standing
  }
}

function secondsLeft({ msLeft }: Standing): number {
  return Math.ceil(msLeft / 1000)
}
