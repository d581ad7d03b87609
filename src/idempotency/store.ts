import { createHmac } from 'node:crypto'
import { idempotencyInProgress, idempotencyKeyReused } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** A request that is to be carried out once, however often it comes. */
export interface Claim {
  readonly account_id: number
  /** The API key: the same Idempotency-Key under another one is another. */
  readonly key_id: number
  readonly idempotency_key: string
  /** Identifies the request, in 45 characters; see `fingerprintOf`. */
  readonly fingerprint: string
}

/** An answer as it was sent. It is as large as a record with its URLs may be: below 64 KiB. */
export interface Answer {
  readonly status: number
  readonly location: string
  readonly etag: string
  /** JSON. */
  readonly body: string
}

export interface OnceAnswered extends Answer {
  /** Whether the answer is that of an earlier request. */
  readonly isReplayed: boolean
}

/** How long an answer is kept. Milliseconds. */
const keptMs = 24 * 60 * 60 * 1_000
/** Rows that one transaction deletes: so few that no request waits for it. */
export const purgedAtOnce = 100

/**
 * The version of fingerprints. Increase it when a release gives the same request another fingerprint: other parts,
 * another order of fields, or a field that is parsed to another value. Stored responses with another version are ignored,
 * so their requests are carried out again. Version 1 had no prefix.
 */
const fingerprintVersion = 2

/**
 * Computes the fingerprint of a request: it differs if any part differs. A part may be a password, so the fingerprint is
 * keyed with a secret that the database does not have. Therefore, a copy of the database does not help to guess passwords.
 */
export function fingerprintOf(parts: readonly unknown[], secret: string): string {
  const digest = createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
  return `${fingerprintVersion}:${digest}`
}

/**
 * Carries out `work` and keeps its answer in the same transaction; or gives the answer that was kept. When `work` throws,
 * nothing is kept. Throws `idempotency_key_reused` when the key was claimed for another request. The claim is made before
 * `work` begins, so that where transactions overlap, the second waits for what becomes of the first.
 */
export function answerOnce(db: Db, claim: Claim, work: (tx: Db) => Promise<Answer>): Promise<OnceAnswered> {
  return db.write(async (tx) => {
    const id = await claimKey(tx, claim, Date.now())
    if (id === undefined) return keptAnswer(tx, claim)
    const { status, location, etag, body } = await work(tx)
    await tx.execute(query.updateTable('kept_answers').set({ status, location, etag, body }).where('id', '=', id))
    return { status, location, etag, body, isReplayed: false }
  })
}

/**
 * Claims the key if it is free, or if its stored response has expired or has a fingerprint of another version. Returns the
 * id of the claim, or undefined if another request has claimed the key. `now` is in Unix milliseconds.
 */
async function claimKey(tx: Db, { fingerprint, ...claim }: Claim, now: number): Promise<number | undefined> {
  const expires_at = new Date(now + keptMs).toISOString()
  const [claimed] = await tx.execute(
    query
      .insertInto('kept_answers')
      .values({ ...claim, fingerprint, expires_at })
      .onConflict((conflict) =>
        conflict
          .columns(['key_id', 'idempotency_key'])
          .doUpdateSet({ fingerprint, expires_at })
          .where((row) =>
            row.or([
              row('kept_answers.expires_at', '<=', new Date(now).toISOString()),
              row('kept_answers.fingerprint', 'not like', `${fingerprintVersion}:%`),
            ]),
          ),
      )
      .returning('id'),
  )
  return claimed?.id
}

/** Deletes expired answers, `purgedAtOnce` at most. Returns their number. */
export async function purgeExpired(db: Db): Promise<number> {
  const expired = query
    .selectFrom('kept_answers')
    .select('id')
    .where('expires_at', '<=', new Date().toISOString())
    .orderBy('expires_at')
    .limit(purgedAtOnce)
  return (await db.execute(query.deleteFrom('kept_answers').where('id', 'in', expired).returning('id'))).length
}

async function keptAnswer(tx: Db, claim: Claim): Promise<OnceAnswered> {
  const [row] = await tx.execute(
    query
      .selectFrom('kept_answers')
      .select(['fingerprint', 'status', 'location', 'etag', 'body'])
      .where('key_id', '=', claim.key_id)
      .where('idempotency_key', '=', claim.idempotency_key)
      .where('account_id', '=', claim.account_id),
  )
  // It was deleted in this very moment by another transaction: the next request with the key will be the first.
  if (row === undefined) throw idempotencyInProgress()
  const { fingerprint, ...answer } = row as Answer & { fingerprint: string }
  if (fingerprint !== claim.fingerprint) throw idempotencyKeyReused()
  return { ...answer, isReplayed: true }
}
