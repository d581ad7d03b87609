import type { KeyIdentity } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import { LruCache } from '../lib/lru-cache.ts'
import { Periodic } from '../lib/periodic.ts'
import type { Db } from '../storage/port.ts'
import { program } from '../version.ts'
import { hashKey, isWellFormedKey } from './key.ts'
import { findKeyByHash, type Key, keyStatus, recordUses } from './store.ts'

/** How long a key is cached. Another process's revocation takes effect after this time at most. Milliseconds. */
const cacheMs = 5_000
/** The number of cached valid keys. As many rejected keys have a separate cache, so that they cannot evict valid keys. */
const maxCached = 10_000
const writeUsesEveryMs = 30_000

/** A result that is valid until a time in monotonic milliseconds. */
type Known<Result> = { readonly result: Result; readonly until: number }

export const malformedKey = new Failure('invalid_api_key', 'The API key is malformed. Copy the whole key again.')
const unknown = new Failure('invalid_api_key', `The API key is unknown. Create a key with "${program} keys create".`)

/** Identifies the senders of requests by their keys. Caches valid and rejected keys for a few seconds. */
export class Keyring {
  readonly #db: Db
  readonly #valid: LruCache<string, Known<KeyIdentity>>
  readonly #rejected: LruCache<string, Known<Failure>>
  #uses = new Map<number, string>()
  readonly #writingUses = new Periodic(() => this.#writeUses(), { everyMs: writeUsesEveryMs, onError: () => undefined })

  /** Caches `capacity` valid keys, and as many rejected keys. */
  constructor(db: Db, capacity = maxCached) {
    this.#db = db
    this.#valid = new LruCache(capacity)
    this.#rejected = new LruCache(capacity)
    this.#writingUses.start()
  }

  /** Returns the key with this secret, or why it is rejected. Returns a promise if the key must be read from the database. */
  identify(secret: string): KeyIdentity | Failure | Promise<KeyIdentity | Failure> {
    if (!isWellFormedKey(secret)) return malformedKey
    const fingerprint = hashKey(secret).toString('latin1')
    const known = this.#valid.get(fingerprint) ?? this.#rejected.get(fingerprint)
    return known !== undefined && known.until > performance.now() ? known.result : this.#lookUp(fingerprint)
  }

  /** Writes the last uses to the database. */
  async close(): Promise<void> {
    await this.#writingUses.run()
    await this.#writingUses.close()
  }

  async #lookUp(fingerprint: string): Promise<KeyIdentity | Failure> {
    const key = await findKeyByHash(this.#db, Buffer.from(fingerprint, 'latin1'))
    if (key === undefined) return this.#reject(fingerprint, unknown)
    const status = keyStatus(key)
    if (status === 'active') return this.#accept(fingerprint, key)
    const failure =
      status === 'revoked'
        ? new Failure('revoked_api_key', `The API key was revoked at ${key.revoked_at}.`)
        : new Failure('expired_api_key', `The API key expired at ${key.expires_at}.`)
    return this.#reject(fingerprint, failure)
  }

  #reject(fingerprint: string, failure: Failure): Failure {
    this.#valid.delete(fingerprint)
    this.#rejected.set(fingerprint, { result: failure, until: performance.now() + cacheMs })
    return failure
  }

  #accept(fingerprint: string, { id, account_id, name, scopes, expires_at }: Key): KeyIdentity {
    const identity = { kind: 'key', id, account: account_id, name, scopes } as const
    const lifetimeMs = expires_at === null ? cacheMs : Date.parse(expires_at) - Date.now()
    this.#valid.set(fingerprint, { result: identity, until: performance.now() + Math.min(cacheMs, lifetimeMs) })
    this.#uses.set(id, new Date().toISOString())
    return identity
  }

  /** If it throws, the uses are written next time. */
  async #writeUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    try {
      await recordUses(this.#db, uses)
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses])
      throw error
    }
  }
}
