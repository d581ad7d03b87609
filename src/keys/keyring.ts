import { Failure } from '../errors.ts'
import { LruCache } from '../lib/lru-cache.ts'
import type { Db } from '../storage/port.ts'
import { fingerprintOf, isWellFormedKey } from './key.ts'
import type { Scope } from './scope.ts'
import { findKeyByHash, type Key, noteUses, statusOf } from './store.ts'

/** The key of a request, and what it stands for. */
export interface Caller {
  readonly key: number
  readonly account: number
  readonly scopes: readonly Scope[]
}

/** A key that another process issued or revoked is noticed after this long at the latest. Milliseconds. */
const trustMs = 5_000
/** How many good keys a keyring remembers. It remembers as many refused ones apart, so that these never displace those. */
const maxRemembered = 10_000
const noteUsesEveryMs = 30_000

interface Good {
  readonly caller: Caller
  /** Unix milliseconds; infinity for a key that does not expire. */
  readonly expiresAt: number
  /** On the monotonic clock, which is never set. */
  readonly until: number
}

interface Refused {
  readonly failure: Failure
  readonly until: number
}

const malformed = new Failure('invalid_api_key', 'The API key is malformed: copy it again, whole.')
const unknown = new Failure('invalid_api_key', 'The API key is unknown. Issue one with "npx waymark keys create".')

/** Tells good keys from others, and remembers both for a few seconds. */
export class Keyring {
  readonly #db: Db
  readonly #good: LruCache<string, Good>
  readonly #refused: LruCache<string, Refused>
  #uses = new Map<number, string>()
  readonly #timer: NodeJS.Timeout

  /** Remembers `capacity` keys of either kind; beyond, the one remembered longest makes room. */
  constructor(db: Db, capacity = maxRemembered) {
    this.#db = db
    this.#good = new LruCache({ maxEntries: capacity })
    this.#refused = new LruCache({ maxEntries: capacity })
    this.#timer = setInterval(() => void this.#noteUses(), noteUsesEveryMs).unref()
  }

  /**
   * The caller that the secret stands for, or the reason why it stands for none. A promise only if the database must be
   * asked, which a secret with a wrong checksum never causes.
   */
  identify(secret: string): Caller | Failure | Promise<Caller | Failure> {
    if (!isWellFormedKey(secret)) return malformed
    const fingerprint = fingerprintOf(secret)
    const now = performance.now()
    const good = this.#good.get(fingerprint)
    if (good !== undefined && good.until > now && good.expiresAt > Date.now()) return good.caller
    const refused = this.#refused.get(fingerprint)
    if (refused !== undefined && refused.until > now) return refused.failure
    return this.#lookUp(fingerprint)
  }

  /** Writes the last uses to the database. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#noteUses()
  }

  async #lookUp(fingerprint: string): Promise<Caller | Failure> {
    const key = await findKeyByHash(this.#db, Buffer.from(fingerprint, 'latin1'))
    if (key === undefined) return this.#refuse(fingerprint, unknown)
    const status = statusOf(key)
    if (status === 'active') return this.#remember(fingerprint, key)
    const failure =
      status === 'revoked'
        ? new Failure('revoked_api_key', `The API key was revoked at ${key.revoked_at}.`)
        : new Failure('expired_api_key', `The API key expired at ${key.expires_at}.`)
    return this.#refuse(fingerprint, failure)
  }

  #refuse(fingerprint: string, failure: Failure): Failure {
    this.#refused.set(fingerprint, { failure, until: performance.now() + trustMs })
    return failure
  }

  #remember(fingerprint: string, record: Key): Caller {
    const expiresAt = record.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at)
    const caller = { key: record.id, account: record.account_id, scopes: record.scopes }
    this.#good.set(fingerprint, { caller, expiresAt, until: performance.now() + trustMs })
    this.#uses.set(record.id, new Date().toISOString())
    return caller
  }

  /** Uses that cannot be written now are kept for the next time: no request fails because of them. */
  async #noteUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    try {
      await noteUses(this.#db, uses)
    } catch {
      this.#uses = new Map([...uses, ...this.#uses])
    }
  }
}
