/**
 * What must hold of a query beyond its parameters one by one: the link, the domain or the space is the account's.
 */
import { type Violation, validationFailed } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import type { Db } from '../../storage/port.ts'
import { type StatsQuery, statsQuery } from './schema.ts'
import { hasRecord, type Subject } from './store.ts'

const records = ['link', 'domain', 'space'] as const

/** The query, and whose clicks it asks for. Throws `validation_failed` with all that is wrong. */
export async function checkedQuery(
  db: Db,
  account: number,
  input: Fields,
): Promise<StatsQuery & { readonly subject: Subject }> {
  const { values, violations } = statsQuery.read(input)
  const all: Violation[] = [...violations]
  let subject: Subject = { scope: 'account', id: account }
  for (const scope of records) {
    const id = values[`${scope}_id`]
    if (typeof id !== 'number') continue
    subject = { scope, id }
    if (!(await hasRecord(db, account, scope, id))) all.push(unknown(scope, id))
  }
  if (all.length > 0) throw validationFailed(all)
  return { ...(values as StatsQuery), subject }
}

/** Whether another account has it must not show. */
function unknown(scope: (typeof records)[number], id: number): Violation {
  return { field: `${scope}_id`, code: `unknown_${scope}`, message: `There is no ${scope} with the id ${id}.` }
}
