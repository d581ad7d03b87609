import { timingSafeEqual } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { hashKey, isWellFormedKey } from './key.ts'
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
/** Keys remembered at most; the one remembered longest makes room. */
const rememberedKeys = 10_000
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
  readonly #remembered = new Map<string, Remembered>()
  #uses = new Map<number, string>()
  readonly #timer: NodeJS.Timeout

  constructor(db: Db) {
    this.#db = db
    this.#timer = setInterval(() => void this.#noteUses().catch(() => undefined), noteUsesEveryMs).unref()
  }

  /** The caller whose key was good a moment ago, without asking the database; undefined when it must be asked. */
  recall(secret: string): Caller | undefined {
    if (secret.length !== 52) return undefined
    const digest = hashKey(secret).toString('base64')
    const found = this.#remembered.get(digest)
    if (found === undefined) return undefined
    if (found.until <= performance.now() || found.expiresAt <= Date.now()) {
      this.#remembered.delete(digest)
      return undefined
    }
    return found.caller
  }

  /**
   * The caller that the secret stands for. Throws `invalid_api_key`, `revoked_api_key` or `expired_api_key`.
   * The checksum is checked before the database is asked.
   */
  async identify(secret: string): Promise<Caller> {
    if (!isWellFormedKey(secret)) throw refused('invalid_api_key', 'The API key is malformed: copy it again, whole.')
    const digest = hashKey(secret)
    const found = await findKeyByHash(this.#db, digest)
    if (found === undefined || !timingSafeEqual(found.hash, digest)) {
      throw refused('invalid_api_key', 'The API key is unknown. Issue one with "waymark keys create".')
    }
    const { key } = found
    const expiresAt = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at)
    if (key.revoked_at !== null) throw refused('revoked_api_key', `The API key was revoked at ${key.revoked_at}.`)
    if (expiresAt <= Date.now()) throw refused('expired_api_key', `The API key expired at ${key.expires_at}.`)
    return this.#remember(digest.toString('base64'), key, expiresAt)
  }

  /** Writes down the last uses and forgets everything. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#remembered.clear()
    await this.#noteUses()
  }

  #remember(digest: string, record: Key, expiresAt: number): Caller {
    if (this.#remembered.size >= rememberedKeys) {
      const oldest = this.#remembered.keys().next()
      if (!oldest.done) this.#remembered.delete(oldest.value)
    }
    const caller = { key: record.id, account: record.account_id, scopes: record.scopes }
    this.#remembered.set(digest, { caller, expiresAt, until: performance.now() + trustMs })
    this.#uses.set(record.id, new Date().toISOString())
    return caller
  }

  async #noteUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    await noteUses(this.#db, uses)
  }
}

function refused(code: 'invalid_api_key' | 'revoked_api_key' | 'expired_api_key', detail: string): Failure {
  return new Failure(code, detail)
}
