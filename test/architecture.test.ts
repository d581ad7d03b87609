/** The rules 1 to 3 of ARCHITECTURE.md: who may import what, and who reads the environment. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { repository } from './scripts.ts'

const port = [
  ...['storage/port.ts', 'storage/statement.ts', 'storage/version.ts', 'storage/fold.ts', 'storage/records.ts'],
  ...['storage/removal.ts', 'storage/restoring.ts'],
]
const operator = [
  ...[
    'accounts/',
    'instance/',
    'keys/',
    'sessions/',
    'config/config.ts',
    'config/listeners.ts',
    'errors.ts',
    'version.ts',
  ],
  ...['storage/location.ts', 'storage/open.ts', 'storage/port.ts'],
]
const room = ['errors.ts', 'resources.ts', 'api/', 'forms/', 'http/', ...port]

/** For each part of src/ what it may import of the others: files, or whole folders. The longest name holds. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'resources.ts': [],
  'version.ts': ['../package.json'],
  'config/': ['errors.ts', 'clicks/sink/open.ts', 'keys/key.ts', 'names/short-url.ts', 'storage/location.ts'],
  'bounded-map.ts': [],
  'turns.ts': [],
  'fingerprint.ts': [],
  'histogram.ts': [],
  'names/': ['errors.ts', 'storage/fold.ts'],
  'storage/': ['bounded-map.ts', 'errors.ts', 'histogram.ts', 'resources.ts'],
  'reachability/': [
    ...['bounded-map.ts', 'errors.ts', 'fingerprint.ts', 'names/host-name.ts', 'names/short-url.ts', 'storage/port.ts'],
  ],
  'accounts/': ['errors.ts', ...port],
  'instance/': port,
  'keys/': ['bounded-map.ts', 'errors.ts', 'resources.ts', ...port],
  'sessions/': ['errors.ts', ...port],
  'limits/': ['errors.ts', ...port],
  'redirect/directory.ts': ['bounded-map.ts', 'errors.ts', 'redirect/', 'storage/port.ts'],
  'redirect/domain-table.ts': ['redirect/', 'storage/port.ts'],
  'redirect/feed.ts': ['storage/port.ts'],
  'redirect/link-cache.ts': [],
  'redirect/statements.ts': ['storage/statement.ts'],
  'redirect/store.ts': ['redirect/', 'storage/port.ts'],
  'clicks/': [
    ...['bounded-map.ts', 'errors.ts', 'histogram.ts', 'http/client-network.ts'],
    ...['storage/clicks/', 'storage/location.ts', 'storage/open-clicks.ts', 'storage/port.ts', 'storage/statement.ts'],
    'storage/restoring.ts',
    'storage/fold.ts',
  ],
  'clicks/sink/': [
    'errors.ts',
    'storage/clicks/recording.ts',
    'storage/file-lock.ts',
    'storage/port.ts',
    'storage/whole-file.ts',
  ],
  'clicks/transfer.ts': ['clicks/', 'storage/clicks/', 'storage/port.ts', 'transfer/'],
  'clicks/texts.ts': ['clicks/', 'storage/port.ts', 'transfer/'],
  'http/': ['errors.ts', 'histogram.ts'],
  'forms/': ['errors.ts', 'http/form-encoding.ts', 'names/', 'resources.ts', 'storage/port.ts'],
  'api/': [
    ...['bounded-map.ts', 'errors.ts', 'http/', 'names/', 'resources.ts', 'version.ts', 'forms/'],
    ...['storage/port.ts', 'storage/version.ts'],
    ...['keys/keyring.ts', 'keys/scope.ts', 'keys/store.ts', 'idempotency/', 'limits/'],
  ],
  'idempotency/': ['errors.ts', ...port],
  'domains/': [...room, 'idempotency/', 'names/', 'transfer/'],
  'domains/statements.ts': ['domains/', ...port],
  'domains/store.ts': ['errors.ts', 'resources.ts', 'domains/', 'names/', ...port],
  'spaces/': [...room, 'idempotency/', 'names/', 'transfer/'],
  'spaces/statements.ts': ['spaces/', ...port],
  'spaces/store.ts': ['errors.ts', 'resources.ts', 'spaces/', ...port],
  'redirect/': [
    ...['bounded-map.ts', 'errors.ts', 'http/', 'names/host-name.ts', 'names/short-url.ts', 'links/password.ts'],
    ...['fingerprint.ts', 'limits/sliding-window.ts'],
    ...['clicks/', ...port],
  ],
  'links/': [...room, 'idempotency/', 'names/', 'transfer/'],
  'links/statements.ts': ['links/', ...port],
  'links/deleted/statements.ts': ['links/statements.ts', 'storage/clicks/tables.ts', ...port],
  'links/deleted/store.ts': ['errors.ts', 'links/', 'storage/clicks/totals.ts', ...port],
  'links/store.ts': ['errors.ts', 'resources.ts', 'links/', 'names/', 'storage/clicks/totals.ts', ...port],
  'links/password.ts': ['errors.ts', 'turns.ts'],
  'stats/': [
    ...['errors.ts', 'api/', 'forms/', 'http/', 'storage/port.ts', 'storage/statement.ts'],
    ...['clicks/days.ts', 'storage/clicks/day-facts.ts', 'storage/clicks/day-parts.ts', 'storage/clicks/keys.ts'],
  ],
  'dashboard/': [
    'turns.ts',
    ...['errors.ts', 'resources.ts', 'http/', 'names/', 'keys/', 'sessions/', 'version.ts'],
    'forms/',
    ...['domains/', 'spaces/', 'links/', 'stats/', 'reachability/', 'clicks/days.ts', 'clicks/software.ts'],
    ...['storage/port.ts', 'storage/version.ts'],
  ],
  'dashboard/charts/': [
    ...['forms/', 'clicks/days.ts', 'errors.ts'],
    ...['dashboard/parts/number.ts', 'http/form-encoding.ts', 'http/html.ts', 'stats/day-range.ts', 'stats/series.ts'],
  ],
  'dashboard/assets.ts': ['http/static-content.ts'],
  'dashboard/frame.ts': ['http/html.ts', 'dashboard/assets.ts', 'dashboard/parts/'],
  'dashboard/parts/': ['http/html.ts', 'links/counts-parameters.ts', 'spaces/space.ts'],
  'dashboard/scripts/': [],
  'stats/statements.ts': [
    ...['storage/clicks/day-form.ts', 'storage/clicks/tables.ts', 'storage/statement.ts', 'stats/day-parameters.ts'],
  ],
  'stats/day-parameters.ts': ['storage/clicks/day-parts.ts'],
  'stats/store.ts': ['stats/', 'storage/clicks/day-facts.ts', 'storage/clicks/day-parts.ts', 'storage/port.ts'],
  'app/': [
    ...['config/listeners.ts', 'histogram.ts', 'http/', 'keys/', 'ops/listener.ts', 'redirect/', 'sessions/token.ts'],
    ...['clicks/clicks.ts', 'clicks/transfer.ts', 'domains/', 'spaces/', 'links/', 'stats/', 'dashboard/dashboard.ts'],
    ...['api/', 'idempotency/', 'names/short-url.ts', 'storage/port.ts'],
  ],
  'ops/': ['errors.ts', 'histogram.ts', 'version.ts', 'storage/port.ts', 'http/'],
  'process/': ['app/', 'clicks/countries.ts', ...operator],
  'main.js': ['process/node-version.js', 'process/serve.ts'],
  'transfer/': ['errors.ts', 'forms/form.ts', ...port],
  'cli/': [
    ...['app/app.ts', 'process/serve.ts', 'resources.ts', 'storage/whole-file.ts', 'transfer/', ...operator],
    ...['clicks/days.ts', 'clicks/texts.ts'],
    ...['forms/', 'domains/', 'spaces/', 'links/', 'names/'],
  ],
  'cli.js': ['process/node-version.js', 'cli/main.ts'],
}

/** Packages that not every file may import, and those that may. */
const mayUse: readonly (readonly [packages: RegExp, files: RegExp])[] = [
  [/^(find-my-way|@fastify\/.*)$/, /^http\//],
  [/^(kysely(\/.*)?|node:sqlite)$/, /^(storage\/.*|(\w+\/)+(store|statements)\.ts)$/],
  // It has the environment among its exports; all of it is in the global `process` too.
  [/^(node:)?process$/, /^$/],
]

const readsEnvironment = /\bprocess\s*(\??\.\s*env\b|(\?\.)?\[)|\{[^{}]*\benv\b[^{}]*\}\s*=\s*(globalThis\.)?process\b/
const specifier = /\b(?:from|import|require|import\.meta\.resolve)\s*\(?\s*['"`]([^'"`\n]+)['"`]/g

/** What is wrong with a file of src/, a sentence each. */
function violationsOf(file: string, source: string): string[] {
  const found = [...source.matchAll(specifier)].flatMap(([, imported = '']) =>
    isAllowed(file, imported) ? [] : [`${file} imports ${imported}`],
  )
  return file !== 'config/config.ts' && readsEnvironment.test(source)
    ? [...found, `${file} reads the environment`]
    : found
}

function isAllowed(file: string, imported: string): boolean {
  if (!imported.startsWith('.'))
    return mayUse.every(([packages, files]) => !packages.test(imported) || files.test(file))
  const part = partOf(file)
  const target = posix.join(posix.dirname(file), imported)
  const isOwn = part.endsWith('/') && target.startsWith(part)
  return (
    isOwn || (mayImport[part] ?? []).some((name) => (name.endsWith('/') ? target.startsWith(name) : target === name))
  )
}

/** The row of the table that holds for the file. */
function partOf(file: string): string {
  const names = Object.keys(mayImport).filter((name) => (name.endsWith('/') ? file.startsWith(name) : file === name))
  const [longest] = names.sort((a, b) => b.length - a.length)
  assert.ok(longest !== undefined, `src/${file} has no row in the table of test/architecture.test.ts`)
  return longest
}

test('everything in src/ imports only what it may, and config/config.ts alone reads the environment', () => {
  const src = join(repository, 'src')
  const files = globSync('**/*.{ts,js}', { cwd: src }).map((file) => file.replaceAll('\\', '/'))
  const own = files.filter((file) => !file.endsWith('.test.ts'))
  assert.ok(own.length > 50)
  assert.deepEqual(
    own.flatMap((file) => violationsOf(file, readFileSync(join(src, file), 'utf8'))),
    [],
  )
})

for (const [file, line] of [
  ['storage/sqlite/lists.ts', `import { Domain } from '../../domains/store.ts'`],
  ['storage/sqlite/lists.ts', `import type { Problem } from '../../http/problem.ts'`],
  ['storage/open.ts', `import { serve } from '../process/serve.ts'`],
  ['api/body.ts', `import { domains } from '../domains/schema.ts'`],
  ['api/body.ts', `export { openLog } from '../process/log.ts'`],
  ['api/openapi/guide.ts', `const { openSqlite } = await import('../../storage/sqlite/open.ts')`],
  ['api/health.ts', `import { statement } from '../storage/statement.ts'`],
  ['api/health.ts', `import { buildApp } from '../app/app.ts'`],
  ['domains/routes.ts', `import { spaceOf } from '../spaces/space.ts'`],
  ['domains/store.ts', `import { listQuery } from '../forms/list-query.ts'`],
  ['keys/store.ts', `import { accountOf } from '../accounts/store.ts'`],
  ['cli/run.ts', `import {\n  find,\n} from '../http/router.ts'`],
  ['domains/routes.ts', `import Router from "find-my-way"`],
  ['domains/routes.ts', `import { sql } from 'kysely'`],
  ['cli/run.ts', `import 'node:sqlite'`],
  ['api/body.ts', `const url = process.env.BASE_URL`],
  ['api/body.ts', `const url = process['env'].BASE_URL`],
  ['api/body.ts', `const { env } = process`],
  ['api/body.ts', `const { pid, env: own } = globalThis.process`],
  ['api/body.ts', `import { env } from 'node:process'`],
] as const) {
  test(`no ${file} with: ${line.replaceAll('\n', ' ')}`, () => assert.equal(violationsOf(file, line).length, 1))
}
