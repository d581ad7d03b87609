/**
 * A resource costs a folder, a row of `resources.ts`, its lines in `app/`, and a migration, and nothing else: proved with
 * one that is made up, in a copy of the source. It has two foreign keys, a filter, two searched texts and a sort of its own.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Json } from './client.ts'
import { newDatabase as newPostgres } from './postgres-database.ts'
import { freePort, listening, newDatabase, newFolder, startProgram, type Variables } from './processes.ts'
import { commandArguments, repository, serverArguments, typeChecker } from './scripts.ts'

/** What has to change outside of the new folder: the file, what stands there, and what is added after it. */
const additions: readonly (readonly [file: string, after: string, added: string])[] = [
  [
    'src/resources.ts',
    'export const resources = {\n',
    `  bookmarks: {
    singular: 'bookmark',
    sorts: { title: 'title_folded' },
    searched: { title: 'title_folded', note: 'note_folded' },
    filters: ['space_id'],
  },\n`,
  ],
  [
    'src/app/api.ts',
    "import { domainRoutes } from '../domains/routes.ts'\n",
    `import { bookmarkRoutes } from '../bookmarks/routes.ts'
import { bookmarkOperations } from '../bookmarks/schema.ts'\n`,
  ],
  [
    'src/app/app.ts',
    "import { domainTransfer } from '../domains/transfer.ts'\n",
    "import { bookmarkTransfer } from '../bookmarks/transfer.ts'\n",
  ],
  ['src/app/api.ts', 'export const operations = [', '...Object.values(bookmarkOperations), '],
  ['src/app/api.ts', 'spaceRoutes(api, storage, actions.spaces)\n', '  bookmarkRoutes(api, storage)\n'],
  ['src/app/app.ts', 'export const transferables = [domainTransfer, spaceTransfer', ', bookmarkTransfer'],
  [
    'src/storage/migrations/all.ts',
    "'0001-schema': [accounts, records, clicks, search],\n",
    "  '0002-bookmarks': [bookmarks],\n",
  ],
  [
    'src/storage/migrations/all.ts',
    "import * as accounts from './accounts.ts'\n",
    "import * as bookmarks from './bookmarks.ts'\n",
  ],
]

/** A copy of the source with the made-up resource. */
function newCopy(t: TestContext): string {
  const folder = newFolder(t)
  const fixture = join(repository, 'test/bookmarks')
  cpSync(join(repository, 'src'), join(folder, 'src'), {
    recursive: true,
    filter: (file) => !file.endsWith('.test.ts'),
  })
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(repository, file), join(folder, file))
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'src/bookmarks'))
  for (const name of ['schema', 'statements', 'store', 'routes', 'transfer']) {
    cpSync(join(fixture, `${name}.ts`), join(folder, `src/bookmarks/${name}.ts`))
  }
  cpSync(join(fixture, 'migration.ts'), join(folder, 'src/storage/migrations/bookmarks.ts'))
  for (const [file, after, added] of additions) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    assert.equal(text.split(after).length, 2, `${file} has one place for ${added}`)
    writeFileSync(
      path,
      text.replace(after, () => after + added),
    )
  }
  return folder
}

/** The arguments of a script, for the source in another folder. */
const inFolder = (folder: string, words: readonly string[]) =>
  words.map((word) => (word.startsWith(repository) ? join(folder, word.slice(repository.length)) : word))

async function startCopy(t: TestContext, folder: string, variables: Variables) {
  const port = String(await freePort())
  const program = [process.execPath, ...inFolder(folder, serverArguments)]
  return listening(
    startProgram(t, program, { ...variables, PORT: port, OPS_PORT: '0', REDIRECT_PORT: '0', RATE_LIMIT: '0' }),
  )
}

test('the copy with a third resource has no type errors', (t) => {
  const folder = newCopy(t)
  execFileSync(process.execPath, [typeChecker, '-p', folder], { cwd: folder })
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`a third resource lists, searches, filters, exports and keeps accounts apart: ${engine}`, async (t) => {
    const folder = newCopy(t)
    let variables: Variables = newDatabase(t).variables
    if (engine === 'postgres') {
      const { url, drop } = await newPostgres(false)
      t.after(drop)
      variables = { DATABASE_URL: url }
    }
    const server = await startCopy(t, folder, variables)
    const command = (...args: readonly string[]) =>
      startProgram(t, [process.execPath, ...inFolder(folder, commandArguments), ...args], variables).ended
    await command('accounts', 'create', '--name', 'Another')
    const other = (await command('keys', 'create', '--name', 'other', '--account', '2')).stdout.trim()

    const send = async (method: string, path: string, form?: Json, key = server.key): Promise<Json> => {
      const { status, body } = await server.send(method, `/api/v1/${path}`, { key, ...(form && { form }) })
      return { status, ...body }
    }
    const stored = async (path: string, form: Json, key?: string) => (await send('POST', path, form, key)).data.id
    const domain = await stored('domains', { name: 'go.example.com' })
    const space = await stored('spaces', { name: 'Reading' })
    const strange = await stored('domains', { name: 'other.example.com' }, other)
    for (let n = 0; n < 12; n++) {
      const title = `Page ${String(n).padStart(2, '0')}`
      const note = n % 2 === 0 ? { note: `Summer ÉTÉ ${n}` } : {}
      await stored('bookmarks', { domain_id: domain, title, ...note, ...(n % 3 === 0 && { space_id: space }) })
    }
    await stored('bookmarks', { domain_id: strange, title: 'Page of another' }, other)

    const titles = async (query: string) => {
      const { data, meta } = await send('GET', `bookmarks?${encodeURI(query)}`)
      return [meta.total, data.map(({ title }: Json) => title.slice(-2)).join(' ')]
    }
    assert.deepEqual(await titles('sort_by=title&sort=asc'), [12, '00 01 02 03 04 05 06 07 08 09'])
    assert.deepEqual(await titles('sort_by=title&sort=desc&page=2'), [12, '01 00'])
    assert.deepEqual(await titles('search=été&search_by=note&sort=asc'), [6, '00 02 04 06 08 10'])
    assert.deepEqual(await titles('search=été&search_by=title'), [0, ''])
    assert.deepEqual(await titles('search=page 1'), [2, '11 10'])
    assert.deepEqual(await titles(`space_id=${space}&sort=asc`), [4, '00 03 06 09'])
    assert.deepEqual(await titles(`space_id=${space}&search=summer&search_by=note&sort=asc`), [2, '00 06'])
    assert.deepEqual(await titles('after=10&sort=asc'), [12, '10 11'])

    const [{ id }] = (await send('GET', 'bookmarks?sort=asc')).data
    assert.equal((await send('GET', `bookmarks/${id}`, undefined, other)).status, 404)
    assert.equal((await send('PATCH', `bookmarks/${id}`, { title: 'Mine' }, other)).status, 404)
    assert.equal((await send('DELETE', `bookmarks/${id}`, undefined, other)).status, 404)
    const refused = await send('POST', 'bookmarks', { domain_id: strange, space_id: 99, title: 'x' })
    assert.deepEqual([refused.status, Object.keys(refused.errors)], [422, ['domain_id', 'space_id']])
    assert.equal((await send('PATCH', `bookmarks/${id}`, { title: 'Winter' })).data.title, 'Winter')
    assert.deepEqual(await titles('search=winter'), [1, 'er'])

    const inUse = await send('DELETE', `domains/${domain}`)
    assert.deepEqual([inUse.status, inUse.code], [409, 'reference_conflict'])
    const reader = (await command('keys', 'create', '--name', 'r', '--account', '1', '--scopes', 'bookmarks:read'))
      .stdout
    assert.equal((await send('GET', 'bookmarks', undefined, reader.trim())).status, 200)
    assert.equal((await send('GET', 'spaces', undefined, reader.trim())).status, 403)
    assert.ok('/api/v1/bookmarks/{id}' in (await server.send('GET', '/openapi.json')).body.paths)

    const { stdout } = await command('export', '--account', '1')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(lines.at(-1), { end: { domains: 1, spaces: 1, links: 0, click_days: 0, bookmarks: 12 } })
    assert.equal(lines.filter((line: Json) => 'bookmark' in line).length, 12)
  })
}
