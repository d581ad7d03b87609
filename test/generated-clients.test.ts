/** Clients that code generators write from the served document compile, and work against the real server. */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startApp } from './app.ts'
import type { Json } from './client.ts'
import { newFolder, startProgram } from './processes.ts'
import { repository, typeChecker } from './scripts.ts'

const compilerOptions = {
  ...{ target: 'esnext', module: 'nodenext', lib: ['esnext', 'dom'], types: ['node'], noEmit: true },
  ...{ strict: true, exactOptionalPropertyTypes: true, allowImportingTsExtensions: true, skipLibCheck: true },
}

/** Keeps the generators from asking the network for anything but the document. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_UPDATE_NOTIFIER: '1' }

const { origin, key } = await startApp()

test('clients of openapi-typescript, with its default options, and orval, from JSON bodies, store, list, update and delete', async (t) => {
  const folder = newProject(t)
  await node(t, folder, [
    join(repository, 'node_modules/openapi-typescript/bin/cli.js'),
    `${origin}/openapi.json`,
    ...['--output', 'openapi-typescript.ts'],
  ])
  const config = {
    input: `${origin}/openapi.json?bodies=json`,
    output: { target: 'orval.ts', client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } },
  }
  writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify({ waymark: config })}`)
  await node(t, folder, [join(repository, 'node_modules/orval/dist/bin/orval.mjs'), '--config', 'orval.config.mjs'])
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.ts')),
    ['openapi-fetch.ts', 'openapi-typescript.ts', 'orval-fetch.ts', 'orval.ts'],
  )
  await node(t, folder, [typeChecker, '--project', folder, '--singleThreaded'])
  for (const [program, domain] of Object.entries({
    'openapi-fetch.ts': 'fetch.example',
    'orval-fetch.ts': 'orval.example',
  })) {
    assertWorks(JSON.parse(await node(t, folder, [program], { URL: origin, KEY: key })), domain)
  }
})

/** A folder with both programs, where packages are found and the compiler checks every file. */
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
    ...{ updatedDomain: 200, deletedDomain: 204, listedDomains: 200 },
  })
  const { domain, stored, listed, updated, refused, missing, updatedDomain, listedDomains } = answers
  assert.equal(domain.body.data.name, name)
  const link = stored.body.data
  const { alias, url, disabled, forward_query, redirect_status } = link
  assert.deepEqual([alias, url], ['summer', 'https://acme.com/summer'])
  assert.deepEqual([disabled, forward_query, redirect_status], [false, false, 302])
  assert.deepEqual(listed.body.data, [link])
  const { updated_at } = updated.body.data
  const changes = { title: 'Sale', disabled: true, status: 'disabled', redirect_status: 301, updated_at }
  assert.deepEqual(updated.body.data, { ...link, ...changes })
  assert.deepEqual(Object.keys(refused.body.errors), ['url'])
  assert.equal(missing.body.code, 'not_found')
  assert.equal(updatedDomain.body.data.homepage_url, 'https://acme.com')
  assert.deepEqual(listedDomains.body.data, [])
}
