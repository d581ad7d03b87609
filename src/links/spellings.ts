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
    const bounds = some.flatMap((each) => [each, `${each}\u0002`])
    for (const [table, build] of [
      ['links', () => mainAddresses(account, domain_id, some)],
      ['link_addresses', () => furtherAddresses(account, domain_id, some)],
    ] as const) {
      const parameters = [account, domain_id, ...bounds]
      const rows = await db.execute(
        new CachedQuery<FoundAddress>(`${some.length} spellings ${table}`, parameters, build),
      )
      for (const { link, alias, exact, url } of rows) {
        found.push({ domain_id, alias, exact: exact === 1, folded: foldCase(alias), link, url })
      }
    }
  }
  return found
}

type FoundAddress = Pick<Row<'links'>, 'alias' | 'exact' | 'url'> & { readonly link: number }

function mainAddresses(account: number, domain: number, folded: readonly string[]) {
  return query
    .selectFrom('links')
    .select(['id as link', 'alias', 'exact', 'url'])
    .where('account_id', '=', account)
    .where('domain_id', '=', domain)
    .where(({ or, and, eb }) =>
      or(folded.map((each) => and([eb('alias_folded', '>=', each), eb('alias_folded', '<', `${each}\u0002`)]))),
    )
}

function furtherAddresses(account: number, domain: number, folded: readonly string[]) {
  return query
    .selectFrom('link_addresses')
    .innerJoin('links', 'links.id', 'link_id')
    .select(['link_id as link', 'link_addresses.alias', 'link_addresses.exact', 'url'])
    .where('link_addresses.account_id', '=', account)
    .where('link_addresses.domain_id', '=', domain)
    .where(({ or, and, eb }) =>
      or(
        folded.map((each) =>
          and([eb('link_addresses.alias_folded', '>=', each), eb('link_addresses.alias_folded', '<', `${each}\u0002`)]),
        ),
      ),
    )
}
