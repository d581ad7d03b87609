/** Clients that code generators write from the served document compile, and work against the real server. */
import assert from 'node:assert/strict'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startApp } from './app.ts'
import type { Json } from './client.ts'
import { newFolder, startProgram } from './processes.ts'
import { repository, typeChecker } from './scripts.ts'

const compilerOptions = {
  ...{ target: 'esnext', module: 'nodenext', lib: ['esnext', 'dom'], types: ['node'], rootDir: '.', outDir: 'out' },
  ...{ strict: true, exactOptionalPropertyTypes: true, rewriteRelativeImportExtensions: true, skipLibCheck: true },
}

/** Keeps the generators from asking the network for anything but the document. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_UPDATE_NOTIFIER: '1' }

const { origin, key } = await startApp()

test('clients of openapi-fetch, orval and swagger-typescript-api store, list, update and delete', async (t) => {
  const folder = newProject(t)
  const document = `${origin}/openapi.json`
  const generate = (tool: string, ...options: string[]) =>
    node(t, folder, [join(repository, 'node_modules', tool), ...options])
  await generate('openapi-typescript/bin/cli.js', document, '--output', 'openapi-typescript.ts')
  await generate('swagger-typescript-api/dist/cli.mjs', 'generate', '--path', document)
  await generate('orval/dist/bin/orval.mjs', '--input', document, '--output', 'orval-client.ts')
  // The configuration in docs/api.md.
  const fetchClient = { target: 'orval-fetch-client.ts', client: 'fetch', baseUrl: origin }
  const config = `export default ${JSON.stringify({ waymark: { input: document, output: fetchClient } })}`
  writeFileSync(join(folder, 'orval.config.mjs'), config)
  await generate('orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs')
  await node(t, folder, [typeChecker, '--project', folder, '--singleThreaded'])
  for (const [program, domain] of Object.entries({
    'openapi-fetch.js': 'fetch.example',
    'orval.js': 'axios.example',
    'orval-fetch.js': 'orval.example',
    'swagger-typescript-api.js': 'swagger.example',
  })) {
    assertWorks(JSON.parse(await node(t, folder, [join('out', program)], { URL: origin, KEY: key })), domain)
  }
})

/** Returns a new folder with the programs, where packages are found and the compiler checks every file. */
function newProject(t: TestContext): string {
  const folder = newFolder(t)
  cpSync(join(repository, 'test/generated-clients'), folder, { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return folder
}

/** Runs a program in the folder. Returns its output once it has succeeded. */
async function node(t: TestContext, cwd: string, args: readonly string[], variables = {}): Promise<string> {
  const program = startProgram(t, [process.execPath, ...args], { ...quiet, ...variables }, { cwd })
  const { code, stdout, stderr } = await program.ended
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

function assertWorks(answers: Json, name: string): void {
  const statusOf = ([answer, { status }]: [string, Json]) => [answer, status]
  assert.deepEqual(Object.fromEntries(Object.entries<Json>(answers).map(statusOf)), {
    ...{ domain: 201, stored: 201, listed: 200, updated: 200, refused: 422, deleted: 204, missing: 404 },
    ...{ bulk: 200, bulkDeleted: 200, updatedDomain: 200, deletedDomain: 204 },
  })
  const { domain, stored, listed, updated, refused, missing, bulk, bulkDeleted, updatedDomain } = answers
  assert.equal(domain.body.data.name, name)
  const link = stored.body.data
  const { alias, url, disabled, redirect_status, clicks_limit, rules, tags } = link
  assert.deepEqual([alias, url, clicks_limit, tags], ['summer', 'https://acme.com/summer', 5, ['Summer']])
  assert.deepEqual([disabled, redirect_status, rules[0].urls[1].weight], [false, 302, 2])
  assert.deepEqual(listed.body.data, [link])
  const { updated_at } = updated.body.data
  const changes = {
    title: 'Sale',
    disabled: true,
    status: 'disabled',
    redirect_status: 301,
    clicks_limit: null,
    rules: [],
    tags: [],
  }
  assert.deepEqual(updated.body.data, { ...link, ...changes, updated_at })
  assert.deepEqual(Object.keys(refused.body.errors), ['url'])
  assert.equal(missing.body.code, 'not_found')
  assert.deepEqual([bulk.body.data[0].status, bulkDeleted.body.data[0].status], [201, 204])
  assert.equal(updatedDomain.body.data.homepage_url, 'https://acme.com')
}
