import type { Db } from '../storage/port.ts'
import { selectPrograms } from './statements.ts'

/** Clicks that are not people's. */
export interface Programs {
  readonly bots: number
  readonly previews: number
}

/** Those of each of the account's links whose ids come after `after`, up to `last`. */
export async function programsOfLinks(
  db: Db,
  account: number,
  after: number,
  last: number,
): Promise<ReadonlyMap<number, Programs>> {
  const rows = await db.all(selectPrograms, { account, after, last })
  return new Map(rows.map(({ link_id, bots, previews }) => [link_id, { bots, previews }]))
}
