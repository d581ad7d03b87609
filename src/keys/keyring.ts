import { timingSafeEqual } from 'node:crypto'
import { BoundedMap } from '../bounded-map.ts'
import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { fingerprintOf, isWellFormedKey } from './key.ts'
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
/** Good keys that a keyring remembers at most; and as many that are not, lest these drive out those. */
const mostRemembered = 10_000
const noteUsesEveryMs = 30_000

interface Good {
  readonly caller: Caller
  /** Unix milliseconds; infinite for a key that does not expire. */
  readonly expiresAt: number
  /** On the monotonic clock, which no clock change moves. */
  readonly until: number
}

interface Refused {
  readonly failure: Failure
  readonly until: number
}

/**
 * What is remembered of keys. By 30 bits of the fingerprint, since a map of texts would look each of them up among all
 * texts of the process first; of two keys that have these bits in common, one is forgotten.
 */
class ByFingerprint<Value> {
  readonly #entries: BoundedMap<number, { readonly fingerprint: string; readonly value: Value }>

  constructor(capacity: number) {
    this.#entries = new BoundedMap(capacity)
  }

  get(fingerprint: string): Value | undefined {
    const found = this.#entries.get(thirtyBitsOf(fingerprint))
    return found?.fingerprint === fingerprint ? found.value : undefined
  }

  set(fingerprint: string, value: Value): void {
    this.#entries.set(thirtyBitsOf(fingerprint), { fingerprint, value })
  }
}

function thirtyBitsOf(fingerprint: string): number {
  const byte = (at: number) => fingerprint.charCodeAt(at)
  return (byte(0) << 22) | (byte(1) << 14) | (byte(2) << 6) | (byte(3) >> 2)
}

const malformed = new Failure('invalid_api_key', 'The API key is malformed: copy it again, whole.')
const unknown = new Failure('invalid_api_key', 'The API key is unknown. Issue one with "waymark keys create".')

/** Tells keys that are good from those that are not, and remembers either for a few seconds. */
export class Keyring {
  readonly #db: Db
  readonly #good: ByFingerprint<Good>
  readonly #refused: ByFingerprint<Refused>
  #uses = new Map<number, string>()
  readonly #timer: NodeJS.Timeout

  /** Of more than `capacity` keys of either kind, the one remembered longest makes room. */
  constructor(db: Db, capacity = mostRemembered) {
    this.#db = db
    this.#good = new ByFingerprint(capacity)
    this.#refused = new ByFingerprint(capacity)
    this.#timer = setInterval(() => void this.#noteUses(), noteUsesEveryMs).unref()
  }

  /**
   * The caller that the secret stands for, or why it stands for none. A promise only when the database must be asked,
   * which a secret with a wrong checksum never is.
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

  /** Writes down the last uses. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#noteUses()
  }

  async #lookUp(fingerprint: string): Promise<Caller | Failure> {
    const digest = Buffer.from(fingerprint, 'latin1')
    const found = await findKeyByHash(this.#db, digest)
    if (found === undefined || !timingSafeEqual(found.hash, digest)) return this.#refuse(fingerprint, unknown)
    const { key } = found
    if (key.revoked_at !== null) {
      const failure = new Failure('revoked_api_key', `The API key was revoked at ${key.revoked_at}.`)
      return this.#refuse(fingerprint, failure)
    }
    const expiresAt = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at)
    if (expiresAt > Date.now()) return this.#remember(fingerprint, key, expiresAt)
    return this.#refuse(fingerprint, new Failure('expired_api_key', `The API key expired at ${key.expires_at}.`))
  }

  #refuse(fingerprint: string, failure: Failure): Failure {
    this.#refused.set(fingerprint, { failure, until: performance.now() + trustMs })
    return failure
  }

  #remember(fingerprint: string, record: Key, expiresAt: number): Caller {
    const caller = { key: record.id, account: record.account_id, scopes: record.scopes }
    this.#good.set(fingerprint, { caller, expiresAt, until: performance.now() + trustMs })
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
