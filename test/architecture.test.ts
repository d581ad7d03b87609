/** The layers of ARCHITECTURE.md: a folder of src/ imports only folders of the lines above its own, and itself. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { repository } from './scripts.ts'

/** From the bottom to the top. Folders of one line do not import each other. */
const layers: readonly (readonly string[])[] = [
  ['record-kinds.ts', 'refusal-messages.ts', 'version.ts'],
  ['violations.ts'],
  ['resources.ts'],
  ['errors.ts', 'warnings.ts'],
  ['lib/'],
  ['storage/', 'http/'],
  ['names/', 'frame/'],
  ['forms/'],
  ['access/'],
  ['jobs/'],
  ['events/'],
  ['accounts/', 'instance/', 'keys/', 'sessions/', 'limits/', 'idempotency/'],
  ['api/', 'reachability/', 'qr/'],
  ['transfer/'],
  ['analytics/'],
  ['rules/'],
  ['domains/', 'spaces/', 'tags/', 'links/', 'members/'],
  ['sign-in/', 'imports/'],
  ['history/'],
  ['redirect/', 'dashboard/', 'ops/'],
  ['config/'],
  ['app/'],
  ['process/'],
  ['cli/'],
  ['main.js', 'cli.js'],
]

/** Packages that only some files may import. */
const packages: readonly (readonly [packages: RegExp, files: RegExp])[] = [
  [/^(find-my-way|@fastify\/.*)$/, /^http\//],
  [/^(kysely(\/.*)?|node:sqlite)$/, /^storage\/|(^|\/)(store|statements)\.ts$/],
  // It takes 30 MB, and is loaded when the first passkey is used.
  [/^@simplewebauthn\//, /^sign-in\/passkeys\/(passkeys|worker)\.ts$/],
  // It loads undici, so it is loaded when the first import is proved.
  [/^request-filtering-agent$/, /^imports\/old-service\.ts$/],
  // It parses untrusted files, so only a process without permissions runs it.
  [/^@resvg\//, /^qr\/logo(-reader)?\.ts$/],
  // It exports the environment. Everything else in it is in the global `process` too.
  [/^(node:)?process$/, /^$/],
]

/** Files with queries besides storage/ and stores. Each is named after the rows or the change that its queries are about. */
const withQueries: Readonly<Record<string, readonly string[]>> = {
  'analytics/': ['deleted-links', 'maintenance', 'recent-clicks', 'recent-totals', 'salts', 'tables'],
  'events/': ['erasure', 'log', 'records', 'removal', 'retention'],
  'links/': [
    ...['activity', 'address-changes', 'addresses', 'bulk-links', 'deletion', 'detachment'],
    ...['link-list', 'link-tags', 'reversal', 'spellings'],
  ],
  'members/': ['changes', 'forgetting', 'invitations'],
  'sign-in/': ['oidc/admission', 'oidc/logout', 'used-tokens'],
}
const importsQuery = /\bimport \{[^}]*(?<!type )\bquery\b[^}]*\} from '[./]+\/storage\/schema\.ts'/
const isStore = /^storage\/|(^|[/-])store\.ts$|(^|\/)statements\.ts$/

const readsEnvironment = /\bprocess\s*(\??\.\s*env\b|(\?\.)?\[)|\{[^{}]*\benv\b[^{}]*\}\s*=\s*(globalThis\.)?process\b/
const mayReadEnvironment = /^config\//
const specifier = /\b(?:from|import|require|import\.meta\.resolve)\s*\(?\s*['"`]([^'"`\n]+)['"`]/g

/** Returns a sentence for each rule that a file of src/ breaks. */
function violationsIn(file: string, source: string): string[] {
  const found = [...source.matchAll(specifier)].flatMap(([, imported = '']) =>
    isAllowed(file, imported) ? [] : [`${file} imports ${imported}`],
  )
  if (!mayReadEnvironment.test(file) && readsEnvironment.test(source)) found.push(`${file} reads the environment`)
  if (importsQuery.test(source) && !isStore.test(file) && !listedWithQueries.includes(file))
    found.push(`${file} builds queries: move them into a store, or add the file to withQueries`)
  return found
}

const listedWithQueries = Object.entries(withQueries).flatMap(([folder, names]) =>
  names.map((name) => `${folder}${name}.ts`),
)

function isAllowed(file: string, imported: string): boolean {
  if (!imported.startsWith('.')) return packages.every(([name, files]) => !name.test(imported) || files.test(file))
  const target = posix.join(posix.dirname(file), imported)
  if (target === '../package.json') return file === 'version.ts'
  return folderOf(target) === folderOf(file) || layerOf(target) < layerOf(file)
}

function folderOf(file: string): string {
  const slash = file.indexOf('/')
  return slash === -1 ? file : file.slice(0, slash + 1)
}

function layerOf(file: string): number {
  const layer = layers.findIndex((folders) => folders.includes(folderOf(file)))
  assert.notEqual(layer, -1, `src/${file} is in none of the layers of test/architecture.test.ts`)
  return layer
}

test('folders import only from layers below, only config/ reads the environment, and listed files build queries', () => {
  const src = join(repository, 'src')
  const files = globSync('**/*.{ts,js}', { cwd: src }).map((file) => file.replaceAll('\\', '/'))
  const own = files.filter((file) => !file.endsWith('.test.ts'))
  assert.ok(own.length > 50)
  const sources = own.map((file) => [file, readFileSync(join(src, file), 'utf8')] as const)
  assert.deepEqual(
    sources.flatMap(([file, source]) => violationsIn(file, source)),
    [],
  )
  const builders = sources.filter(([file, source]) => importsQuery.test(source) && !isStore.test(file))
  assert.deepEqual(builders.map(([file]) => file).sort(), listedWithQueries)
})

for (const [file, line] of [
  ['storage/sqlite/lists.ts', `import { Domain } from '../../domains/store.ts'`],
  ['storage/sqlite/lists.ts', `import { problemOf } from '../../http/failures.ts'`],
  ['storage/open.ts', `import { serve } from '../process/serve.ts'`],
  ['api/body.ts', `import { domains } from '../domains/schema.ts'`],
  ['api/body.ts', `export { openLog } from '../process/log.ts'`],
  ['domains/actions.ts', `import { spaceOf } from '../spaces/schema.ts'`],
  ['keys/store.ts', `import { accountOf } from '../accounts/store.ts'`],
  ['redirect/visits.ts', `import {\n  find,\n} from '../dashboard/pages.ts'`],
  ['domains/actions.ts', `import Router from "find-my-way"`],
  ['domains/actions.ts', `import { sql } from 'kysely'`],
  ['domains/actions.ts', `import { query } from '../storage/schema.ts'`],
  ['cli/run.ts', `import 'node:sqlite'`],
  ['cli/run.ts', `const { openSqlite } = await import('node:sqlite')`],
  ['api/body.ts', `const url = process.env.BASE_URL`],
  ['api/body.ts', `const url = process['env'].BASE_URL`],
  ['api/body.ts', `const { env } = process`],
  ['api/body.ts', `const { pid, env: own } = globalThis.process`],
  ['api/body.ts', `import { env } from 'node:process'`],
] as const) {
  test(`rejects, in ${file}: ${line.replaceAll('\n', ' ')}`, () => assert.equal(violationsIn(file, line).length, 1))
}
