/** Addresses that differ at most in case. */
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import type { Address } from './addresses.ts'

/** A stored address, with the URL of its link. */
export interface KnownAddress extends Address {
  readonly folded: string
  readonly link: number
  readonly url: string
}

/** Keys of one statement. */
const foundTogether = 64

/** Returns the addresses of the account's links on a domain whose folded aliases are among these, in any spelling. */
export async function addressesWith(
  db: Db,
  account: number,
  domain_id: number,
  folded: readonly string[],
): Promise<KnownAddress[]> {
  const found: KnownAddress[] = []
  for (const some of parts(folded, foundTogether)) {
    const build = () => ofSpelling(domain_id, some, 0).unionAll(ofSpelling(domain_id, some, 1))
    const parameters = [domain_id, ...some, domain_id, ...some]
    const rows = await db.execute(new CachedQuery<FoundAddress>(`${some.length} spellings`, parameters, build))
    for (const { account_id, exact, ...address } of rows) {
      if (account_id === account) found.push({ ...address, domain_id, exact: exact === 1 })
    }
  }
  return found
}

type FoundAddress = Pick<Row<'addresses'>, 'account_id' | 'alias' | 'exact'> &
  Pick<KnownAddress, 'folded' | 'link' | 'url'>

// With the account as a condition, SQLite would read all addresses of the domain. Each part has the condition of an index.
function ofSpelling(domain: number, folded: readonly string[], exact: 0 | 1) {
  return query
    .selectFrom('addresses')
    .innerJoin('links', 'links.id', 'link_id')
    .select([
      'addresses.account_id',
      'addresses.alias',
      'addresses.alias_folded as folded',
      'addresses.exact',
      'link_id as link',
      'url',
    ])
    .where('addresses.domain_id', '=', domain)
    .where('addresses.alias_folded', 'in', folded)
    .where(({ eb, lit }) => eb('addresses.exact', '=', lit(exact)))
}
