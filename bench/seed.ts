/**
 * Prepared databases with records in one account. They are created through the stores and cached between runs.
 */

import { createHash } from 'node:crypto'
import {
  constants,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import { insertDomain } from '../src/domains/store.ts'
import { createKey } from '../src/keys/store.ts'
import { insertLink } from '../src/links/batch-insertion.ts'
import { shortUrls } from '../src/names/short-url.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Db, Storage, StorageLocation } from '../src/storage/port.ts'
import { IndexWatch } from './index-watch.ts'
import { domainOf, domainsFor, historyOf, linkOf } from './link-records.ts'
import { hostNameOf, urlsOf } from './records.ts'

/** A database has only domains, or links and a tenth as many domains. */
export type SeedKind = 'domains' | 'links'

/** A database with the records 1 to `records`, whose ids are their numbers, and a key with every scope. */
export interface Seed {
  readonly kind: SeedKind
  readonly location: StorageLocation
  /** The number of records of its kind. */
  readonly records: number
  readonly account: number
  readonly secret: string
}

/** Returns the number of records per table. */
export function contentsOf(kind: SeedKind, records: number): { domains: number; links: number } {
  return kind === 'domains' ? { domains: records, links: 0 } : { domains: domainsFor(records), links: records }
}

/** Records that one transaction stores. In bigger ones the journal that undoes a statement takes most of the time. */
const groupSize = 500

export const benchFolder = join(tmpdir(), 'waymark-bench')

type Say = (line: string) => void

/** Copies the prepared database into `folder`. Prepares it first if this schema has none. */
export async function seededCopy(kind: SeedKind, records: number, folder: string, say: Say): Promise<Seed> {
  const seed = readSeed(kind, records) ?? (await prepare(kind, records, say))
  const path = join(folder, `${kind}-${records}.db`)
  copyFileSync(seed.path, path, constants.COPYFILE_FICLONE)
  const { account, secret } = seed
  return { kind, location: { engine: 'sqlite', path }, records, account, secret }
}

/** Stores `count` more domains from this process. Returns their ids. */
export async function storeMore(seed: Seed, first: number, count: number): Promise<number[]> {
  const storage = await openStorage(seed.location)
  try {
    return await insertDomains(storage, seed.account, { first, count }, () => undefined)
  } finally {
    await storage.close()
  }
}

interface Prepared {
  readonly path: string
  readonly account: number
  readonly secret: string
}

function readSeed(kind: SeedKind, records: number): Prepared | null {
  const stem = stemOf(kind, records)
  if (!existsSync(`${stem}.json`)) return null
  return { ...JSON.parse(readFileSync(`${stem}.json`, 'utf8')), path: `${stem}.db` }
}

/** The database appears under its name only when it is complete. Those of older schemas make room. */
async function prepare(kind: SeedKind, records: number, say: Say): Promise<Prepared> {
  mkdirSync(benchFolder, { recursive: true })
  for (const old of readdirSync(benchFolder)) {
    if (old.startsWith(prefixOf(kind, records))) rmSync(join(benchFolder, old), { force: true })
  }
  const stem = stemOf(kind, records)
  const draft = `${stem}.${process.pid}.db`
  const { account, secret } = await fill(draft, kind, records, say)
  renameSync(draft, `${stem}.db`)
  // Empty: the log has been copied back.
  for (const suffix of ['-wal', '-shm']) rmSync(`${draft}${suffix}`, { force: true })
  writeFileSync(`${stem}.json`, JSON.stringify({ records, account, secret }), { mode: 0o600 })
  return { path: `${stem}.db`, account, secret }
}

async function fill(path: string, kind: SeedKind, records: number, say: Say) {
  const storage = await openStorage({ engine: 'sqlite', path })
  const account = await createAccount(storage, 'Bench')
  const key = { name: 'bench', scopes: ['*'] as const, lifetimeMs: null }
  const { secret } = await createKey(storage, systemActor(account.id), key)
  storage.start((problem) => say(String(problem)))
  const progress = (what: string, count: number) => (stored: number) =>
    say(`Storing ${count} ${what}: ${Math.round((stored / count) * 100)} %`)
  const { domains, links } = contentsOf(kind, records)
  await insertDomains(storage, account.id, { first: 1, count: domains }, progress('domains', domains))
  if (links > 0) await insertLinks(storage, account.id, { domains, links }, progress('links', links))
  const index = new IndexWatch(path)
  await index.caughtUp(60_000, (lag) => say(`Indexing ${records} ${kind}: ${lag} to go`))
  index.close()
  // The last connection to close the database moves the log into it, which a read-only one cannot do.
  await storage.close()
  return { account: account.id, secret }
}

type Progress = (stored: number) => void

/** Stores domains in big groups and returns their ids. */
async function insertDomains(
  storage: Storage,
  account: number,
  { first, count }: { first: number; count: number },
  progress: Progress,
): Promise<number[]> {
  const ids: number[] = []
  await inGroups(storage, { first, count, progress }, async (tx, domain) => {
    ids.push((await insertDomain(tx, systemActor(account), hostNameOf(domain), urlsOf(domain))).record.id)
  })
  return ids
}

async function insertLinks(
  storage: Storage,
  account: number,
  { domains, links }: { domains: number; links: number },
  progress: Progress,
): Promise<void> {
  await inGroups(storage, { first: 1, count: links, progress }, async (tx, link) => {
    const id = domainOf(link, domains)
    const row = { ...linkOf(link), domain_id: id, history: historyOf(link) }
    await insertLink(tx, systemActor(account), row, shortUrls('https://{domain}'))
  })
}

async function inGroups(
  storage: Storage,
  { first, count, progress }: { first: number; count: number; progress: Progress },
  insert: (tx: Db, record: number) => Promise<void>,
): Promise<void> {
  const end = first + count
  for (let from = first; from < end; from += groupSize) {
    const until = Math.min(from + groupSize, end)
    await storage.write(async (tx) => {
      for (let record = from; record < until; record++) await insert(tx, record)
    })
    progress(until - first)
  }
}

function stemOf(kind: SeedKind, records: number): string {
  return join(benchFolder, `${prefixOf(kind, records)}${recipe()}`)
}

function prefixOf(kind: SeedKind, records: number): string {
  return `seed-${kind === 'domains' ? '' : `${kind}-`}${records}-`
}

/** Changes whenever the schema does, or what fills it. */
function recipe(): string {
  const root = join(import.meta.dirname, '..')
  const migrations = globSync('src/storage/migrations/*.ts', { cwd: root }).sort()
  const hash = createHash('sha256')
  for (const name of [...migrations, ...ingredients]) hash.update(readFileSync(join(root, name)))
  return hash.digest('hex').slice(0, 12)
}

const ingredients = [
  'src/storage/sqlite/connection.ts',
  'src/storage/sqlite/search.ts',
  'src/storage/sqlite/search-index.ts',
  'src/accounts/store.ts',
  'src/domains/store.ts',
  'src/keys/store.ts',
  'src/links/link.ts',
  'src/links/store.ts',
  'src/resources.ts',
  'src/lib/text.ts',
  'bench/index-watch.ts',
  'bench/link-records.ts',
  'bench/records.ts',
  'bench/seed.ts',
]
