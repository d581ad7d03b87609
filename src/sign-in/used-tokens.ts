import { hash } from 'node:crypto'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/**
 * Marks a token as used, in the transaction that it authorizes. Returns false if it was used before. `expiresAt` and `now` are
 * in Unix milliseconds; the token must be rejected after it has expired, because its mark is deleted.
 */
export async function useOnce(tx: Db, token: string, expiresAt: number, now: number): Promise<boolean> {
  await tx.execute(query.deleteFrom('used_tokens').where('expires_at', '<=', new Date(now).toISOString()))
  const used = { hash: hash('sha256', token, 'buffer'), expires_at: new Date(expiresAt).toISOString() }
  const insert = query.insertInto('used_tokens').values(used)
  return (await tx.execute(insert.onConflict((conflict) => conflict.doNothing()).returning('expires_at'))).length > 0
}
