import { createHmac } from 'node:crypto'
import { idempotencyInProgress, idempotencyKeyReused } from '../errors.ts'
import { Periodic } from '../lib/periodic.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** A request with an Idempotency-Key, which must be carried out only once. */
export interface Claim {
  readonly account_id: number
  /** The API key. Each API key has its own Idempotency-Keys. */
  readonly key_id: number
  readonly idempotency_key: string
  /** Identifies the request, in 45 characters; see `fingerprintOfRequest`. */
  readonly fingerprint: string
}

/** A sent response. A record is smaller than 128 KiB, and 1,000 short ones are about 1 MiB. */
export interface StoredResponse {
  readonly status: number
  /** Empty for none, like `etag`. */
  readonly location: string
  readonly etag: string
  /** JSON. */
  readonly body: string
}

export interface OnceResult extends StoredResponse {
  /** Whether this is the response to an earlier request. */
  readonly isReplayed: boolean
}

/** The time for which responses are stored. Milliseconds. */
const retentionMs = 24 * 60 * 60 * 1_000
const purgeEveryMs = 60_000
/** Rows deleted by one transaction: few enough not to delay other requests. */
export const purgeBatchSize = 100

/**
 * Carries out each claimed request once, which the database guarantees across processes. This process remembers only the
 * claims that it is working on, so that repetitions need not wait in the queue of writes.
 */
export class IdempotentRequests {
  readonly #db: Db
  readonly #running = new Set<string>()
  readonly #purge: Periodic
  #isClosed = false

  constructor(db: Db, everyMs = purgeEveryMs) {
    this.#db = db
    // A failed purge does no harm, because the next one deletes more.
    this.#purge = new Periodic(() => this.#purgeAll(), { everyMs, onError: () => undefined })
    this.#purge.start()
  }

  /**
   * Runs `work` and stores its response in the same transaction, or returns the stored response of the claim. Stores nothing
   * if `work` throws. Without a claim, only runs `work`. Throws `idempotency_key_reused` if the key belongs to another
   * request, and `idempotency_in_progress` while the same claim is being carried out.
   */
  async run(claim: Claim | null, work: (db: Db) => Promise<StoredResponse>): Promise<OnceResult> {
    if (claim === null) return { ...(await work(this.#db)), isReplayed: false }
    return this.exclusively(claim, () => runOnce(this.#db, claim, work))
  }

  /** Runs `work`, which carries out a claim. Throws `idempotency_in_progress` while the same claim is being carried out. */
  async exclusively<T>(claim: Claim | null, work: () => Promise<T>): Promise<T> {
    if (claim === null) return work()
    const name = `${claim.key_id} ${claim.idempotency_key}`
    if (this.#running.has(name)) throw idempotencyInProgress()
    this.#running.add(name)
    try {
      return await work()
    } finally {
      this.#running.delete(name)
    }
  }

  /** Returns whether a response is stored for a key, maybe of another request. */
  async knows(key: NamedKey): Promise<boolean> {
    return (await findRow(this.#db, key)) !== undefined
  }

  /** Returns the stored response of a claim; undefined if there is none. Throws `idempotency_key_reused`. */
  find(claim: Claim): Promise<OnceResult | undefined> {
    return findStored(this.#db, claim)
  }

  /** Replaces the stored response of a claim. */
  async replace(claim: Claim, response: StoredResponse): Promise<void> {
    const { account_id, key_id, idempotency_key } = claim
    const stored = query.updateTable('stored_responses').set(response).where('key_id', '=', key_id)
    await this.#db.execute(stored.where('idempotency_key', '=', idempotency_key).where('account_id', '=', account_id))
  }

  /** Resolves when the database is no longer in use. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#purge.close()
  }

  /** Each batch is a transaction, so that other writes can run in between. */
  async #purgeAll(): Promise<void> {
    let deleted = purgeBatchSize
    while (deleted === purgeBatchSize && !this.#isClosed) deleted = await purgeExpired(this.#db)
  }
}

/** Runs `work` in a transaction as `IdempotentRequests.run` does, on any connection. */
export function runOnce(
  db: Pick<Db, 'write'>,
  claim: Claim | null,
  work: (tx: Db) => Promise<StoredResponse>,
): Promise<OnceResult> {
  return db.write(async (tx) => {
    if (claim === null) return { ...(await work(tx)), isReplayed: false }
    // An overlapping transaction on another process waits here for this one.
    const id = await claimKey(tx, claim, Date.now())
    if (id === undefined) return findResponse(tx, claim)
    const response = await work(tx)
    await tx.execute(query.updateTable('stored_responses').set(response).where('id', '=', id))
    return { ...response, isReplayed: false }
  })
}

/** Increase it if the fingerprint of the same request changes. Responses with another version are ignored. */
const fingerprintVersion = 2

/** Returns a keyed hash of a request, so that a copy of the database does not help to guess a password in it. */
export function fingerprintOfRequest(parts: readonly unknown[], secret: string): string {
  const digest = createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
  return `${fingerprintVersion}:${digest}`
}

/** Returns the id of the claim, or undefined if another request has claimed the key. `now` is in Unix milliseconds. */
async function claimKey(tx: Db, { fingerprint, ...claim }: Claim, now: number): Promise<number | undefined> {
  const expires_at = new Date(now + retentionMs).toISOString()
  const [claimed] = await tx.execute(
    query
      .insertInto('stored_responses')
      .values({ ...claim, fingerprint, expires_at })
      .onConflict((conflict) =>
        conflict
          .columns(['key_id', 'idempotency_key'])
          .doUpdateSet({ fingerprint, expires_at })
          .where((row) =>
            row.or([
              row('stored_responses.expires_at', '<=', new Date(now).toISOString()),
              row('stored_responses.fingerprint', 'not like', `${fingerprintVersion}:%`),
            ]),
          ),
      )
      .returning('id'),
  )
  return claimed?.id
}

/** Deletes up to `purgeBatchSize` expired responses. Returns their number. */
export async function purgeExpired(db: Db): Promise<number> {
  const expired = query
    .selectFrom('stored_responses')
    .select('id')
    .where('expires_at', '<=', new Date().toISOString())
    .orderBy('expires_at')
    .limit(purgeBatchSize)
  return (await db.execute(query.deleteFrom('stored_responses').where('id', 'in', expired).returning('id'))).length
}

/** A fingerprint of no request. */
const erasedFingerprint = `${fingerprintVersion}:`

/**
 * Removes a permanently deleted record from stored responses, and the links of a domain with it. The claims stay, because a
 * repeated request must not store the record again. Searches in the background.
 */
export async function eraseFromResponses(
  storage: Storage,
  account: number,
  record: 'link' | 'domain' | 'space' | 'tag',
  id: number,
): Promise<void> {
  const field = record === 'domain' ? 'domain_id' : 'id'
  const found = query
    .selectFrom('stored_responses')
    .select('id')
    .where('account_id', '=', account)
    .where(({ or, and, eb }) => {
      const ofRecord = eb('location', 'like', `%/${record}s/${id}`)
      const ofAddress = eb('location', 'like', `%/links/${id}/addresses/%`)
      const ofLinks = eb('body', 'like', `%"${field}":${id},%`)
      if (record === 'domain') return or([ofRecord, ofLinks])
      // A single record is found by its location, because records of other kinds have the same ids.
      return record === 'link' ? or([ofRecord, ofAddress, and([eb('location', '=', ''), ofLinks])]) : ofRecord
    })
  const isErased = (value: Readonly<Record<string, unknown>> | null) =>
    value?.domain_id !== undefined && value[field] === id
  for (const [found_id] of await storage.scan(account, found)) {
    const own = query.selectFrom('stored_responses').select(['location', 'body']).where('id', '=', Number(found_id))
    const [response] = await storage.execute(own)
    if (!response?.body) continue
    const body = JSON.stringify(JSON.parse(response.body, (_, value) => (isErased(value) ? undefined : value)))
    const erased = response.location === '' ? { body } : { body: '', fingerprint: erasedFingerprint }
    await storage.execute(query.updateTable('stored_responses').set(erased).where('id', '=', Number(found_id)))
  }
}

/** Frees the key of a claim whose request has failed. */
export async function releaseClaim(tx: Db, { account_id, key_id, idempotency_key }: Claim): Promise<void> {
  const own = query.deleteFrom('stored_responses').where('key_id', '=', key_id).where('account_id', '=', account_id)
  await tx.execute(own.where('idempotency_key', '=', idempotency_key))
}

/** An invitation in a stored response. */
interface StoredInvitation {
  readonly id: number
  readonly name: string | null
  readonly email: string | null
  readonly created_by: { readonly name: string } | null
}

/** Removes the account's invitations that `isErased` selects from stored responses. The claims stay, as in `eraseFromResponses`. */
export async function eraseInvitations(
  db: Db,
  account: number,
  isErased: (invitation: StoredInvitation) => boolean,
): Promise<void> {
  const all = query.selectFrom('stored_responses').select(['id', 'body']).where('account_id', '=', account)
  for (const { id, body } of await db.execute(all.where('location', 'like', '%/invitations/%'))) {
    if (!body || !isErased(JSON.parse(body).data)) continue
    const erased = { body: '', fingerprint: erasedFingerprint }
    await db.execute(query.updateTable('stored_responses').set(erased).where('id', '=', id))
  }
}

async function findResponse(tx: Db, claim: Claim): Promise<OnceResult> {
  const stored = await findStored(tx, claim)
  // Another transaction has just deleted it, so the next request with the key will be the first.
  if (stored === undefined) throw idempotencyInProgress()
  return stored
}

async function findStored(db: Db, claim: Claim): Promise<OnceResult | undefined> {
  const row = await findRow(db, claim)
  if (row === undefined) return undefined
  const { fingerprint, ...response } = row
  if (fingerprint !== claim.fingerprint) throw idempotencyKeyReused()
  return { ...response, isReplayed: true }
}

/** A key of an API key. */
export type NamedKey = Pick<Claim, 'account_id' | 'key_id' | 'idempotency_key'>
type ClaimedResponse = StoredResponse & { readonly fingerprint: string }

async function findRow(db: Db, claim: NamedKey): Promise<ClaimedResponse | undefined> {
  const [row] = await db.execute(
    query
      .selectFrom('stored_responses')
      .select(['fingerprint', 'status', 'location', 'etag', 'body'])
      .where('key_id', '=', claim.key_id)
      .where('idempotency_key', '=', claim.idempotency_key)
      .where('account_id', '=', claim.account_id)
      .where('expires_at', '>', new Date().toISOString())
      .where('fingerprint', 'like', `${fingerprintVersion}:%`),
  )
  return row as ClaimedResponse | undefined
}
