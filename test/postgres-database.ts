/**
 * Databases of one's own on the PostgreSQL of this run.
 */
import type { PostgresLocation } from '../src/storage/location.ts'
import {
  databaseUrl,
  execute,
  newName,
  prepareServer,
  type TestServer,
  templateVariable,
  urlVariable,
} from './postgres.ts'

let own: Promise<TestServer> | undefined

/** The server of this run; when nobody prepared one, it is started now and ends with the file. */
async function testServer(): Promise<Pick<TestServer, 'url' | 'template'>> {
  const url = process.env[urlVariable]
  const template = process.env[templateVariable]
  if (url && template) return { url, template }
  own ??= ownServer()
  return own
}

async function ownServer(): Promise<TestServer> {
  const server = await prepareServer()
  process.once('beforeExit', () => server.stop())
  return server
}

/** How databases are copied; undefined until it is known. */
let strategy: string | undefined

/** Copies of files cost half as much as copies through the log, which PostgreSQL 15 made the usual way. */
async function cheapestCopy(url: string): Promise<string> {
  const [row] = await execute(url, 'show server_version_num')
  return Number(row?.server_version_num) >= 150_000 ? 'strategy file_copy' : ''
}

/** A database of one's own: migrated, or, with `isMigrated` false, empty. It is dropped by `drop`. */
export async function newDatabase(isMigrated = true): Promise<PostgresLocation & { drop(): Promise<void> }> {
  const { url, template } = await testServer()
  const name = newName('test')
  strategy ??= await cheapestCopy(url)
  await execute(url, `create database ${name} template ${isMigrated ? template : 'template0'} ${strategy}`)
  return {
    engine: 'postgres',
    url: databaseUrl(url, name),
    pool: 10,
    drop: async () => void (await execute(url, `drop database ${name} with (force)`)),
  }
}
