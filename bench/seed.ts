/**
 * Databases with a given number of domains in one account, made through the stores and kept between runs.
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
import { createAccount } from '../src/accounts/store.ts'
import { insertDomain } from '../src/domains/store.ts'
import { createKey } from '../src/keys/store.ts'
import { openStorage, type StorageLocation } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/port.ts'
import { IndexWatch } from './index-watch.ts'
import { hostNameOf, urlsOf } from './records.ts'

/** A database with the records 1 to `records`, whose ids are their numbers, and a key that may do everything. */
export interface Seed {
  readonly location: StorageLocation
  readonly records: number
  readonly account: number
  readonly secret: string
}

/** Records that one transaction stores. In bigger ones the journal that undoes a statement takes most of the time. */
const groupSize = 500

export const benchFolder = join(tmpdir(), 'waymark-bench')

/** A fresh copy of the prepared database, in `folder`; prepares it when there is none for this schema. */
export async function seededCopy(records: number, folder: string, say: (line: string) => void): Promise<Seed> {
  const seed = readSeed(records) ?? (await prepare(records, say))
  const path = join(folder, `${records}.db`)
  copyDatabase(seed.path, path)
  const { account, secret } = seed
  return { location: { engine: 'sqlite', path }, records, account, secret }
}

/** Stores `count` records more, from another process than the server's, and returns their ids. */
export async function storeMore(seed: Seed, first: number, count: number): Promise<number[]> {
  const storage = await openStorage(seed.location)
  try {
    return await insertRecords(storage, seed.account, { first, count }, () => undefined)
  } finally {
    await storage.close()
  }
}

interface Prepared {
  readonly path: string
  readonly account: number
  readonly secret: string
}

function readSeed(records: number): Prepared | null {
  const stem = stemOf(records)
  if (!existsSync(`${stem}.json`)) return null
  return { ...JSON.parse(readFileSync(`${stem}.json`, 'utf8')), path: `${stem}.db` }
}

/** The database appears under its name only when it is complete. Those of older schemas make room. */
async function prepare(records: number, say: (line: string) => void): Promise<Prepared> {
  mkdirSync(benchFolder, { recursive: true })
  for (const old of readdirSync(benchFolder)) {
    if (old.startsWith(`seed-${records}-`)) rmSync(join(benchFolder, old), { force: true })
  }
  const stem = stemOf(records)
  const draft = `${stem}.${process.pid}.db`
  const { account, secret } = await fill(draft, records, say)
  for (const suffix of databaseSuffixes) renameSync(`${draft}${suffix}`, `${stem}.db${suffix}`)
  writeFileSync(`${stem}.json`, JSON.stringify({ records, account, secret }), { mode: 0o600 })
  return { path: `${stem}.db`, account, secret }
}

async function fill(path: string, records: number, say: (line: string) => void) {
  const storage = await openStorage({ engine: 'sqlite', path })
  const account = await createAccount(storage, 'Bench')
  const key = { account: account.id, name: 'bench', scopes: ['*'] as const, lifetimeMs: null }
  const { secret } = await createKey(storage, key)
  storage.start((problem) => say(String(problem)))
  const progress = (stored: number) => say(`Storing ${records} records: ${Math.round((stored / records) * 100)} %`)
  await insertRecords(storage, account.id, { first: 1, count: records }, progress)
  const index = new IndexWatch(path)
  await index.caughtUp(60_000, (lag) => say(`Indexing ${records} records: ${lag} to go`))
  index.close()
  await storage.close()
  return { account: account.id, secret }
}

/** Stores records in big groups and returns their ids. */
async function insertRecords(
  storage: Storage,
  account: number,
  { first, count }: { first: number; count: number },
  progress: (stored: number) => void,
): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < count) {
    const from = first + ids.length
    const size = Math.min(groupSize, count - ids.length)
    await storage.write(async (tx) => {
      for (let record = from; record < from + size; record++) {
        ids.push((await insertDomain(tx, account, hostNameOf(record), urlsOf(record))).record.id)
      }
    })
    progress(ids.length)
  }
  return ids
}

/** The records, and the search index beside them. */
const databaseSuffixes = ['', '-search']

function copyDatabase(from: string, to: string): void {
  for (const suffix of databaseSuffixes) copyFileSync(`${from}${suffix}`, `${to}${suffix}`, constants.COPYFILE_FICLONE)
}

function stemOf(records: number): string {
  return join(benchFolder, `seed-${records}-${recipe()}`)
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
  'src/storage/sqlite/search/index-file.ts',
  'src/storage/sqlite/search/indexing.ts',
  'src/storage/sqlite/search/words.ts',
  'src/accounts/store.ts',
  'src/domains/statements.ts',
  'src/domains/store.ts',
  'src/keys/store.ts',
  'bench/records.ts',
  'bench/seed.ts',
]
