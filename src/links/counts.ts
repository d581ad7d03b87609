import type { Db } from '../storage/port.ts'
import { ownerParametersOf } from './counts-parameters.ts'
import { countIn } from './statements.ts'

const statements = { domain_id: countIn('domains', 'domain_id'), space_id: countIn('spaces', 'space_id') }

/**
 * How many links each of these domains or spaces of the account has, by its id. Counts up to `countedAtMost`. For at most
 * `ownersAtOnce` of them.
 */
export async function countLinksIn(
  db: Db,
  account: number,
  by: keyof typeof statements,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await db.all(statements[by], { account, ...ownerParametersOf(ids) })
  return new Map(rows.map(({ id, links }) => [id, Number(links)]))
}
