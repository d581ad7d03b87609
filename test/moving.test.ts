/** The commands of docs/moving.md, with exports of all services. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandsWith, newPlace } from './command-line.ts'
import { freePort, newDatabase } from './processes.ts'
import { repository } from './scripts.ts'
import { rerun, timeless } from './transcript.ts'
import { startServer } from './waymark.ts'

const page = join(repository, 'docs/moving.md')
const document = readFileSync(page, 'utf8')
const exportOf = (name: string) => join(repository, 'test/moving', name)

test('the commands of docs/moving.md move links of Bitly, and prove them with a server that has the same links', async (t) => {
  const { variables } = newDatabase(t)
  const port = await freePort()
  await startServer(t, { ...variables, REDIRECT_PORT: String(port) })
  const { say } = commandsWith(variables)
  await say('domains create go.tea.example')
  for (const [alias, path] of Object.entries({ menu: 'menu', '4kQz9L': 'menu', '3xYb7K': 'shop' })) {
    await say(`links create https://tea.example/${path} --alias ${alias}`)
  }
  const place = await newPlace(t)
  const env = {
    ...place.variables,
    PROOF_HOSTS: `go.tea.example=127.0.0.1:${port}`,
    BASE_URL: 'https://links.tea.example',
    SHORT_URL: 'https://{domain}',
  }
  const places = { 'bitly.csv': exportOf('bitly.csv') }
  const now = await rerun(document, { url: 'http://localhost:3000', places, env })

  // To update the document: UPDATE_README=1 npm test -- test/moving.test.ts
  if (process.env.UPDATE_README) writeFileSync(page, now)
  else assert.equal(timeless(now), timeless(document))
})

/** The commands with exports, and the source that is recognized. */
const lines = [...document.matchAll(/^npx waymark (move plan (\S+).*)$/gm)]

test('docs/moving.md has a command for each source', () => {
  assert.equal(lines.length, 10)
})

const sources: Readonly<Record<string, string>> = {
  ...{ bitly: 'bitly', yourls: 'yourls', kutt: 'kutt', shlink: 'shlink', dub: 'dub', rebrandly: 'rebrandly' },
  ...{ 'short-io': 'short_io', phpshort: 'phpshort', sheet: 'csv', waymark: 'csv' },
}

for (const [, line = '', file = ''] of lines) {
  test(`${line.slice(0, 60)} plans its rows without an error`, async (t) => {
    const { say, json } = await newPlace(t)
    await say('domains create go.tea.example')
    const { source, outcomes, rows } = await json(line.replace(file, exportOf(file)))
    assert.deepEqual([outcomes.store, rows > 0], [rows, true], source)
    assert.equal(source, sources[file.replace(/\..*/, '')])
  })
}
