import { createHmac } from 'node:crypto'
import type { Generated, Kysely } from 'kysely'
import { idempotencyInProgress, idempotencyKeyReused } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

interface KeptAnswersTable extends Claim {
  id: Generated<number>
  expires_at: string
  /** All four are null only within the transaction that stores the record. */
  status: number | null
  location: string | null
  etag: string | null
  body: string | null
}

type Tables = { kept_answers: KeptAnswersTable }

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
    const now = Date.now()
    const times = { now: new Date(now).toISOString(), expires_at: new Date(now + keptMs).toISOString() }
    const [claimed] = await tx.all(claiming, { ...claim, ...times })
    if (claimed === undefined) return keptAnswer(tx, claim)
    const answer = await work(tx)
    await tx.all(keeping, { id: claimed.id, ...answer })
    return { ...answer, isReplayed: false }
  })
}

/** Forgets answers that have expired, `purgedAtOnce` at most; returns how many. */
export async function purgeExpired(db: Db): Promise<number> {
  const gone = await db.write((tx) => tx.all(purged, { now: new Date().toISOString() }))
  return gone.length
}

async function keptAnswer(tx: Db, claim: Claim): Promise<OnceAnswered> {
  const [row] = await tx.all(kept, claim)
  // Purged in this very moment, where transactions overlap: the next request with the key is the first.
  if (row === undefined) throw idempotencyInProgress()
  const { fingerprint, ...answer } = row as Answer & { fingerprint: string }
  if (fingerprint !== claim.fingerprint) throw idempotencyKeyReused()
  return { ...answer, isReplayed: true }
}

/**
 * Claims the key if it is free, or if its stored response has expired or has a fingerprint of another version. Returns no
 * row if another request has claimed it.
 */
const claiming = statement((db: Kysely<Tables>, claim: Claim & { now: string; expires_at: string }) =>
  db
    .insertInto('kept_answers')
    .values({
      account_id: claim.account_id,
      key_id: claim.key_id,
      idempotency_key: claim.idempotency_key,
      fingerprint: claim.fingerprint,
      expires_at: claim.expires_at,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['key_id', 'idempotency_key'])
        .doUpdateSet({ fingerprint: claim.fingerprint, expires_at: claim.expires_at })
        .where((row) =>
          row.or([
            row('kept_answers.expires_at', '<=', claim.now),
            row('kept_answers.fingerprint', 'not like', `${fingerprintVersion}:%`),
          ]),
        ),
    )
    .returning('id'),
)

const keeping = statement((db: Kysely<Tables>, { id, status, location, etag, body }: Answer & { id: number }) =>
  db.updateTable('kept_answers').set({ status, location, etag, body }).where('id', '=', id),
)

const kept = statement((db: Kysely<Tables>, { account_id, key_id, idempotency_key }: Claim) =>
  db
    .selectFrom('kept_answers')
    .select(['fingerprint', 'status', 'location', 'etag', 'body'])
    .where('key_id', '=', key_id)
    .where('idempotency_key', '=', idempotency_key)
    .where('account_id', '=', account_id),
)

const purged = statement((db: Kysely<Tables>, { now }: { now: string }) =>
  db
    .deleteFrom('kept_answers')
    .where('id', 'in', (answers) =>
      answers
        .selectFrom('kept_answers')
        .select('id')
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(purgedAtOnce),
    )
    .returning('id'),
)
