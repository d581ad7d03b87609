import { timingSafeEqual } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { fingerprintOf, isWellFormedKey, keyLength } from './key.ts'
import type { Scope } from './scope.ts'
import { findKeyByHash, type Key, noteUses } from './store.ts'

/** Whoever a request acts for. */
export interface Caller {
  readonly key: number
  readonly account: number
  readonly scopes: readonly Scope[]
}

/** A key that was revoked, or a process that issued one, elsewhere is noticed after this long at the latest. */
const trustMs = 5_000
/** Keys that a keyring remembers at most. */
const mostRemembered = 10_000
const noteUsesEveryMs = 30_000

interface Remembered {
  readonly caller: Caller
  /** Unix milliseconds; infinite for a key that does not expire. */
  readonly expiresAt: number
  /** On the monotonic clock, which no clock change moves. */
  readonly until: number
}

/** Tells keys that are good from those that are not, and remembers the good ones for a few seconds. */
export class Keyring {
  readonly #db: Db
  readonly #capacity: number
  readonly #remembered = new Map<string, Remembered>()
  #uses = new Map<number, string>()
  readonly #timer: NodeJS.Timeout

  /** Of more than `capacity` keys, the one remembered longest makes room. */
  constructor(db: Db, capacity = mostRemembered) {
    this.#db = db
    this.#capacity = capacity
    this.#timer = setInterval(() => void this.#noteUses(), noteUsesEveryMs).unref()
  }

  /**
   * The caller that the secret stands for, or why it stands for none. A promise only when the database must be asked,
   * which a secret with a wrong checksum never is.
   */
  identify(secret: string): Caller | Failure | Promise<Caller | Failure> {
    const fingerprint = secret.length === keyLength ? fingerprintOf(secret) : ''
    const found = this.#remembered.get(fingerprint)
    if (found !== undefined && found.until > performance.now() && found.expiresAt > Date.now()) return found.caller
    if (isWellFormedKey(secret)) return this.#lookUp(fingerprint)
    return new Failure('invalid_api_key', 'The API key is malformed: copy it again, whole.')
  }

  /** Writes down the last uses and forgets everything. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#remembered.clear()
    await this.#noteUses()
  }

  async #lookUp(fingerprint: string): Promise<Caller | Failure> {
    const digest = Buffer.from(fingerprint, 'base64url')
    const found = await findKeyByHash(this.#db, digest)
    if (found === undefined || !timingSafeEqual(found.hash, digest)) {
      return new Failure('invalid_api_key', 'The API key is unknown. Issue one with "waymark keys create".')
    }
    const { key } = found
    const expiresAt = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at)
    if (key.revoked_at !== null) return new Failure('revoked_api_key', `The API key was revoked at ${key.revoked_at}.`)
    if (expiresAt <= Date.now()) return new Failure('expired_api_key', `The API key expired at ${key.expires_at}.`)
    return this.#remember(fingerprint, key, expiresAt)
  }

  #remember(fingerprint: string, record: Key, expiresAt: number): Caller {
    if (this.#remembered.size >= this.#capacity) {
      const oldest = this.#remembered.keys().next()
      if (!oldest.done) this.#remembered.delete(oldest.value)
    }
    const caller = { key: record.id, account: record.account_id, scopes: record.scopes }
    this.#remembered.set(fingerprint, { caller, expiresAt, until: performance.now() + trustMs })
    this.#uses.set(record.id, new Date().toISOString())
    return caller
  }

  /** Uses that cannot be written down now are kept for the next time: they are no reason for anything to fail. */
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
