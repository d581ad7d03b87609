/** The transcripts, links and tables of the documents. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { variables } from '../src/config/variables.ts'
import { pathWithCurl, withFastNpx } from './path.ts'
import { freePort, newFolder, startServer } from './processes.ts'
import { repository } from './scripts.ts'
import { rerun, stepsOf, timeless } from './transcript.ts'

const [readme, tour] = [join(repository, 'README.md'), join(repository, 'docs', 'tour.md')]
const documents = [
  readme,
  tour,
  ...['configuration.md', 'operations.md', 'privacy.md'].map((name) => join(repository, 'docs', name)),
]

/** Runs every command of the document on a new database, and compares the output. */
async function rehearse(t: TestContext, path: string): Promise<void> {
  const document = readFileSync(path, 'utf8')
  const DATABASE_URL = `sqlite:${newFolder(t)}/waymark.db`
  const REDIRECT_PORT = String(await freePort())
  const server = await startServer(t, { DATABASE_URL, REDIRECT_PORT })
  const env = { ...process.env, PATH: withFastNpx(t, pathWithCurl(t)), DATABASE_URL, KEY: server.key }
  const hosts = ['http://localhost', 'http://xn--bcher-kva.example']
  const places = {
    ...Object.fromEntries(hosts.map((host) => [`${host}:3080`, `${host}:${REDIRECT_PORT}`])),
    'http://localhost:3000': `http://localhost:${server.port}`,
  }
  const now = rerun(document, { url: server.url, places, env, isIndented: true })

  // To update the document: UPDATE_README=1 npm test
  if (process.env.UPDATE_README) writeFileSync(path, now)
  else assert.equal(timeless(now), timeless(document))
}

test('the commands of the README print its transcripts', (t) => rehearse(t, readme))

test('the commands of docs/tour.md print its transcripts', (t) => rehearse(t, tour))

test('the README stores a link, visits it and shows an error; the tour has more than 18 commands', () => {
  const outputs = stepsOf(readFileSync(readme, 'utf8')).map(({ output }) => output)
  const expected = [/"name": "localhost"/, /"alias": "Faster"/, /^302 https:/, /The titel field is unknown/]
  assert.equal(outputs.length, expected.length)
  for (const [at, pattern] of expected.entries()) assert.match(outputs[at] as string, pattern)
  assert.ok(stepsOf(readFileSync(tour, 'utf8')).length > 18)
})

test('documents link only to files that exist', () => {
  for (const path of documents) {
    for (const [, file = ''] of readFileSync(path, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      assert.ok(existsSync(join(dirname(path), file)), `${path} links to ${file}`)
    }
  }
})

test('docs/configuration.md lists every variable with its default', () => {
  const documented = readFileSync(join(repository, 'docs', 'configuration.md'), 'utf8').matchAll(
    /^\| `([A-Z_]+)` \| (?:`(.*?)` )?\|/gm,
  )
  assert.deepEqual(
    Object.fromEntries([...documented].map(([, name, fallback = '']) => [name, fallback])),
    Object.fromEntries(Object.entries(variables).map(([name, [fallback]]) => [name, fallback])),
  )
})
