/** The last check of each domain, which all processes share. */
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { addressesIn, type DomainChecks, type FileResults, type Reachability } from './checks.ts'
import { type DnsRecord, recordsToSet } from './dns.ts'

export interface DomainCheck {
  readonly answer: Reachability['answer']
  /** The IP addresses that the DNS returned. */
  readonly addresses: readonly string[]
  readonly files: FileResults
  /** RFC 3339. */
  readonly checked_at: string
}

/** Stores the result of a check of the account's domain. Does nothing if there is no such domain. */
export async function storeCheck(
  db: Db,
  account: number,
  domain: number,
  { answer, records, files }: Reachability,
  now = Date.now(),
): Promise<void> {
  const stored = {
    answer,
    addresses: addressesIn(records).join(' '),
    files: JSON.stringify(files),
    checked_at: new Date(now).toISOString(),
  }
  await db.write(async (tx) => {
    const own = query.selectFrom('domains').select('id').where('id', '=', domain).where('account_id', '=', account)
    // Locked, because the domain could otherwise be deleted before the row that refers to it is stored.
    if ((await tx.execute(own.forUpdate())).length === 0) return
    await tx.execute(
      query
        .insertInto('domain_checks')
        .values({ domain_id: domain, account_id: account, ...stored })
        .onConflict((conflict) => conflict.column('domain_id').doUpdateSet(stored)),
    )
  })
}

/** Finds the last checks of the account's domains, by the domains' ids. */
export async function findChecks(
  db: Db,
  account: number,
  domains: readonly number[],
): Promise<ReadonlyMap<number, DomainCheck>> {
  if (domains.length === 0) return new Map()
  const rows = await db.execute(
    query
      .selectFrom('domain_checks')
      .select(['domain_id', 'answer', 'addresses', 'files', 'checked_at'])
      .where('account_id', '=', account)
      .where('domain_id', 'in', domains),
  )
  return new Map(
    rows.map(({ domain_id, answer, addresses, files, checked_at }) => [
      domain_id,
      {
        answer: answer as DomainCheck['answer'],
        addresses: addresses.split(' ').filter(Boolean),
        files: JSON.parse(files),
        checked_at,
      },
    ]),
  )
}

/** Finds the account's domain that was last seen to reach this server, and its IP addresses. */
export async function findReachedDomain(
  db: Db,
  account: number,
): Promise<{ readonly name_unicode: string; readonly addresses: readonly string[] } | undefined> {
  const [row] = await db.execute(
    query
      .selectFrom('domain_checks')
      .innerJoin('domains', (join) =>
        join
          .onRef('domains.id', '=', 'domain_checks.domain_id')
          .onRef('domains.account_id', '=', 'domain_checks.account_id'),
      )
      .select(['domains.name_unicode', 'domain_checks.addresses'])
      .where('domain_checks.account_id', '=', account)
      .where('domain_checks.answer', '=', 'here')
      .where('domain_checks.addresses', '<>', '')
      .orderBy('domain_checks.checked_at', 'desc')
      .limit(1),
  )
  return row && { ...row, addresses: row.addresses.split(' ') }
}

/** What commands know of the server's addresses. */
interface OwnAddresses {
  /** The dashboard's host. */
  readonly publicHost: string | null
  readonly checks: Pick<DomainChecks, 'lookUpAddresses' | 'publicAddresses'>
}

/** Finds the DNS records to set for a domain of the account; none if no address of this server is known. */
export async function findRecordsToSet(
  db: Db,
  account: number,
  { id, name }: { readonly id: number; readonly name: string },
  { publicHost, checks }: OwnAddresses,
): Promise<readonly DnsRecord[]> {
  const [last, reached, host] = await Promise.all([
    findChecks(db, account, [id]),
    findReachedDomain(db, account),
    checks.lookUpAddresses(publicHost ?? ''),
  ])
  const check = last.get(id)
  const domain = check?.answer === 'here' ? check.addresses : []
  const known = { host, domain, reached: reached?.addresses ?? [], machine: checks.publicAddresses() }
  return recordsToSet(name, publicHost, known).records
}
