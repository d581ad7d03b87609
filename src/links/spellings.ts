/** Addresses that differ at most in case. */
import { foldCase } from '../lib/text.ts'
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
    // The keys of exact addresses start with the folded alias and U+0001: see `addressKey`.
    const parameters = some.flatMap((each) => [domain_id, each, `${each}\u0002`])
    for (const [table, build] of [
      ['links', () => mainAddresses(domain_id, some)],
      ['link_addresses', () => furtherAddresses(domain_id, some)],
    ] as const) {
      const shape = `${some.length} spellings ${table}`
      const rows = await db.execute(new CachedQuery<FoundAddress>(shape, parameters, build))
      for (const { account_id, link, alias, exact, url } of rows) {
        if (account_id !== account) continue
        found.push({ domain_id, alias, exact: exact === 1, folded: foldCase(alias), link, url })
      }
    }
  }
  return found
}

type FoundAddress = Pick<Row<'links'>, 'account_id' | 'alias' | 'exact' | 'url'> & { readonly link: number }

// With the account as a condition, or the domain outside of the alternatives, SQLite would read all links of the domain.
function mainAddresses(domain: number, folded: readonly string[]) {
  return query
    .selectFrom('links')
    .select(['account_id', 'id as link', 'alias', 'exact', 'url'])
    .where(({ or, and, eb }) =>
      or(
        folded.map((each) =>
          and([eb('domain_id', '=', domain), eb('alias_folded', '>=', each), eb('alias_folded', '<', `${each}\u0002`)]),
        ),
      ),
    )
}

function furtherAddresses(domain: number, folded: readonly string[]) {
  return query
    .selectFrom('link_addresses')
    .innerJoin('links', 'links.id', 'link_id')
    .select(['links.account_id', 'link_id as link', 'link_addresses.alias', 'link_addresses.exact', 'url'])
    .where(({ or, and, eb }) =>
      or(
        folded.map((each) =>
          and([
            eb('link_addresses.domain_id', '=', domain),
            eb('link_addresses.alias_folded', '>=', each),
            eb('link_addresses.alias_folded', '<', `${each}\u0002`),
          ]),
        ),
      ),
    )
}
