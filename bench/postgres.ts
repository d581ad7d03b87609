/**
 * PostgreSQL for the bench: the server at TEST_POSTGRES_URL, or a new server that is as durable as in production.
 */

import pg from 'pg'
import { systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import { createKey } from '../src/keys/store.ts'
import { foldCase } from '../src/lib/text.ts'
import { foldUrl } from '../src/lib/url-search.ts'
import { openStorage } from '../src/storage/open.ts'
import type { StorageLocation } from '../src/storage/port.ts'
import { databaseUrl, execute, newName, startPostgres } from '../test/postgres.ts'
import { domainOf, historyOf, linkOf } from './link-records.ts'
import { hostNameOf, urlsOf } from './records.ts'
import { contentsOf, type Seed, type SeedKind } from './seed.ts'

type Say = (line: string) => void

const batchSize = 5_000
const poolSize = 10

export interface BenchServer {
  readonly url: string
  stop(): Promise<void>
}

/** Returns the server, or starts one. */
export async function benchServer(): Promise<BenchServer> {
  const given = process.env.TEST_POSTGRES_URL
  return given ? { url: given, stop: async () => undefined } : startPostgres({ isDurable: true })
}

/** Creates a database with the records 1 to `records`, and a key with every scope. */
export async function seededDatabase(
  { url }: BenchServer,
  kind: SeedKind,
  records: number,
  say: Say,
): Promise<Seed & { drop(): Promise<void> }> {
  const name = newName('bench')
  await execute(url, `create database ${name} template template0`)
  const location: StorageLocation = { engine: 'postgres', url: databaseUrl(url, name), pool: poolSize }
  const storage = await openStorage(location)
  const account = await createAccount(storage, 'Bench')
  const key = { name: 'bench', scopes: ['*'] as const, lifetimeMs: null }
  const { secret } = await createKey(storage, systemActor(account.id), key)
  await storage.close()
  await fill(location.url, account.id, contentsOf(kind, records), say)
  return {
    kind,
    location,
    records,
    account: account.id,
    secret,
    drop: async () => void (await execute(url, `drop database ${name} with (force)`)),
  }
}

/** Inserts in batches, because the stores would need a round trip per record. */
async function fill(
  url: string,
  account: number,
  { domains, links }: { domains: number; links: number },
  say: Say,
): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await inGroups('domains', domains, say, (numbers) => insertDomains(client, account, numbers))
  await inGroups('links', links, say, (numbers) => insertLinks(client, account, domains, numbers))
  await client.query('vacuum analyze')
  await client.end()
}

async function inGroups(
  what: SeedKind,
  count: number,
  say: Say,
  insert: (numbers: readonly number[]) => Promise<void>,
): Promise<void> {
  for (let from = 1; from <= count; from += batchSize) {
    const size = Math.min(batchSize, count - from + 1)
    await insert(Array.from({ length: size }, (_, at) => from + at))
    say(`Storing ${count} ${what} on PostgreSQL: ${Math.round(((from + size - 1) / count) * 100)} %`)
  }
}

async function insertDomains(client: pg.Client, account: number, numbers: readonly number[]): Promise<void> {
  const rows = numbers.map((domain) => ({ ...hostNameOf(domain), ...urlsOf(domain) }))
  await client.query(
    `insert into domains (account_id, name, name_unicode, search_text, homepage_url, not_found_url, created_at, updated_at)
      select $1, name, unicode, case when name <> unicode then name || chr(10) || unicode end, home, lost, $6, $6
      from unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality as row (name, unicode, home, lost, at)
      order by at`,
    [
      account,
      rows.map(({ name }) => name),
      rows.map(({ nameUnicode }) => nameUnicode),
      rows.map(({ homepage_url }) => homepage_url),
      rows.map(({ not_found_url }) => not_found_url),
      new Date().toISOString(),
    ],
  )
}

async function insertLinks(
  client: pg.Client,
  account: number,
  domains: number,
  numbers: readonly number[],
): Promise<void> {
  const rows = numbers.map((link) => ({ ...linkOf(link), ...historyOf(link), domain_id: domainOf(link, domains) }))
  await client.query(
    `insert into links (account_id, domain_id, alias, alias_folded, url, url_folded, title, title_folded, disabled,
        forward_query, redirect_status, status, created_at, updated_at)
      select $1, domain, alias, folded, url, nullif(url_folded, url), title, nullif(title_folded, title), 0,
        0, 302, 'active', $9, $9
      from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
        with ordinality as row (domain, alias, folded, url, url_folded, title, title_folded, at)
      order by at`,
    [
      account,
      rows.map(({ domain_id }) => domain_id),
      rows.map(({ alias }) => alias),
      rows.map(({ alias }) => foldCase(alias)),
      rows.map(({ url }) => url),
      rows.map(({ url }) => foldUrl(url)),
      rows.map(({ title }) => title),
      rows.map(({ title }) => title && foldCase(title)),
      rows[0]?.created_at,
    ],
  )
  await client.query(
    `update link_clicks set clicks = row.clicks, last_clicked_ms = $4
      from unnest($1::bigint[], $2::text[], $3::bigint[]) as row (domain, folded, clicks)
        join links on links.domain_id = domain and alias_folded = folded
      where link_id = links.id`,
    [
      rows.map(({ domain_id }) => domain_id),
      rows.map(({ alias }) => foldCase(alias)),
      rows.map(({ clicks }) => clicks),
      rows[0]?.last_clicked_ms,
    ],
  )
}
