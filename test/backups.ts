/** For tests of `waymark backup` and `waymark restore`: databases, and backups of them. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import { createKey } from '../src/keys/store.ts'
import { insertSpace } from '../src/spaces/store.ts'
import { openStorage } from '../src/storage/open.ts'
import { runHere, type Said, withoutProgress } from './command-line.ts'
import { newDatabase, type RunningServer, type Variables } from './processes.ts'
import { startServer } from './waymark.ts'

export const spaces = '/api/v1/spaces'

export interface Place {
  readonly variables: Variables
  readonly path: string
  readonly folder: string
  /** Returns the path of a file next to the database's folder. */
  file(name: string): string
  start(): Promise<RunningServer>
  say(...args: string[]): Promise<Said>
  /** Like `say`; it must succeed. */
  done(...args: string[]): Promise<string>
}

export function newPlace(t: TestContext): Place {
  const { path, variables } = newDatabase(t)
  const say = (...args: string[]) => runHere(args, { variables })
  return {
    variables,
    path,
    folder: dirname(path),
    file: (name) => join(dirname(dirname(path)), name),
    start: () => startServer(t, { ...variables, RATE_LIMIT: '0', LOG_LEVEL: 'warn' }),
    say,
    done: async (...args) => {
      const { code, stdout, stderr } = await say(...args)
      assert.deepEqual([code, stderr], [0, ''])
      return stdout
    },
  }
}

/** A place whose database has one space of this name, and a backup of it. */
export async function backedUp(t: TestContext, name: string) {
  const place = newPlace(t)
  const storage = await openStorage({ engine: 'sqlite', path: place.path })
  const { id: account } = await createAccount(storage, 'Acme')
  const { secret } = await createKey(storage, systemActor(account), { name: 'test', scopes: ['*'], lifetimeMs: null })
  await insertSpace(storage, systemActor(account), { name, color: 1 })
  await place.done('backup', place.file('backup.db'))
  await storage.close()
  return { ...place, backup: place.file('backup.db'), key: secret }
}

export async function store(server: RunningServer, name: string, key = server.key): Promise<void> {
  assert.equal((await server.send('POST', spaces, { form: { name }, key })).status, 201)
}

export async function namesAt(server: RunningServer, key = server.key): Promise<string[]> {
  const { body } = await server.send('GET', `${spaces}?per_page=100&sort=asc`, { key })
  return body.data.map(({ name }: { name: string }) => name)
}

export function namesIn(path: string): unknown[] {
  const database = new DatabaseSync(path)
  const names = database.prepare('select name from spaces order by id').all()
  database.close()
  return names.map(({ name }) => name)
}

/** A backup without its checksum, which is less than a page. */
export function pagesOf(backup: string): Buffer {
  const bytes = readFileSync(backup)
  return bytes.subarray(0, bytes.length - (bytes.length % 4096))
}

/** Returns the only line that a failed command prints. */
export function sentence({ code, stdout, stderr }: Pick<Said, 'stdout' | 'stderr'> & { code: number | null }): string {
  assert.deepEqual([code, stdout], [1, ''])
  const printed = withoutProgress(stderr)
  assert.match(printed, /^[^\n]+\.\n$/)
  return printed.trimEnd()
}
