/** The transcripts, links and tables of the documents. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { variables } from '../src/config/variables.ts'
import { pageCodes } from '../src/errors.ts'
import { failures } from '../src/http/failures.ts'
import { maxFileBytes } from '../src/imports/schema.ts'
import { formatCount } from '../src/lib/format.ts'
import { endingDays, idleDays, maxBulkLinks } from '../src/links/link.ts'
import { pathWithCurl } from './path.ts'
import { freePort, newFolder, type Variables } from './processes.ts'
import { repository } from './scripts.ts'
import { listenOn } from './servers.ts'
import { rerun, stepsOf, timeless } from './transcript.ts'
import { startServer, withFastNpm } from './waymark.ts'

const readme = join(repository, 'README.md')
const tour = pageNamed('tour')
const guide = pageNamed('api')
const [listsPage, writesPage] = [pageNamed('api-lists'), pageNamed('api-writes')]

function pageNamed(name: string): string {
  return join(repository, 'docs', `${name}.md`)
}

/** The environment and the replaced URLs, for other examples of the document. */
interface Rehearsal {
  readonly env: Variables
  readonly places: Readonly<Record<string, string>>
}

/** Runs every command of the document on a new database, and compares the output. */
async function rehearse(t: TestContext, path: string): Promise<Rehearsal> {
  const document = readFileSync(path, 'utf8')
  const DATABASE_URL = `sqlite:${newFolder(t)}/waymark.db`
  const REDIRECT_PORT = String(await freePort())
  const server = await startServer(t, { DATABASE_URL, REDIRECT_PORT })
  const env = { ...(process.env as Variables), PATH: withFastNpm(t, pathWithCurl(t)), DATABASE_URL, KEY: server.key }
  const hosts = ['http://localhost', 'http://xn--bcher-kva.example']
  const places = {
    ...Object.fromEntries(hosts.map((host) => [`${host}:3080`, `${host}:${REDIRECT_PORT}`])),
    'http://localhost:3000': `http://localhost:${server.port}`,
  }
  const now = await rerun(document, { url: server.url, places, env, isIndented: true })

  // To update the document: UPDATE_README=1 npm test -- test/readme.test.ts
  if (process.env.UPDATE_README) writeFileSync(path, now)
  else assert.equal(timeless(now), timeless(document))
  return { env, places }
}

test('the commands of the README print its transcripts', async (t) => {
  await rehearse(t, readme)
})

for (const path of [tour, guide, pageNamed('command-line')]) {
  test(`the commands of ${basename(path)} print its transcripts`, async (t) => {
    await rehearse(t, path)
  })
}

test('the commands of docs/api-lists.md print its transcripts, and its program reads a list', async (t) => {
  const { env, places } = await rehearse(t, listsPage)
  const aliases = Array.from({ length: 101 }, (_, index) => `link-${index}`)
  for (const alias of aliases)
    assert.equal((await storeLink({ url: 'https://acme.com', alias }, env, places)).status, 201)
  const list = await runProgram(t, listsPage, places, env)
  assert.deepEqual(list.trim().split('\n'), ['home', ...aliases])
})

test('the commands of docs/api-writes.md print its transcripts, and its program retries', async (t) => {
  const { env, places } = await rehearse(t, writesPage)
  // A server in between closes the first connection, and responds with 503 to the second request.
  const keys: unknown[] = []
  const faulty = createServer(async (request, response) => {
    keys.push(request.headers['idempotency-key'])
    if (keys.length === 1) return request.socket.destroy()
    if (keys.length === 2) return response.writeHead(503, { 'retry-after': '0' }).end('{}')
    const fields = JSON.parse(await text(request))
    const answer = await storeLink(fields, env, places)
    return response.writeHead(answer.status).end(await answer.text())
  })
  const port = await listenOn(t, faulty)
  const created = await runProgram(t, writesPage, { 'http://localhost:3000': `http://127.0.0.1:${port}` }, env)
  assert.match(created, /^http:\/\/go\.acme\.com:\d+\/\w+\n$/)
  assert.equal(keys.length, 3)
  assert.equal(new Set(keys).size, 1)
})

function storeLink(fields: Record<string, string>, env: Variables, places: Rehearsal['places']): Promise<Response> {
  return fetch(`${places['http://localhost:3000']}/api/v1/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${env.KEY}` },
    body: new URLSearchParams(fields),
  })
}

/** Runs the JavaScript block of the document. Returns its output. */
async function runProgram(
  t: TestContext,
  document: string,
  places: Rehearsal['places'],
  env: Variables,
): Promise<string> {
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(readFileSync(document, 'utf8')) ?? []
  const path = join(newFolder(t), 'program.mjs')
  writeFileSync(
    path,
    Object.entries(places).reduce((source, [written, meant]) => source.replaceAll(written, meant), program),
  )
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env })
  return stdout
}

test('docs/api.md lists every error code of the API with its status', () => {
  const rows = readFileSync(guide, 'utf8').matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \| (\d{3}) \|/gm)
  const documented = [...rows].flatMap(([, codes = '', status]) =>
    [...codes.matchAll(/[a-z_]+/g)].map(([code]) => [code, Number(status)]),
  )
  const expected = Object.entries(failures)
    .filter(([code]) => !(pageCodes as readonly string[]).includes(code))
    .map(([code, { status }]) => [code, status])
  assert.deepEqual(documented.sort(), expected.sort())
})

test('the README stores a link, visits it and shows an error, and the tour and the command line have many commands', () => {
  const outputs = stepsOf(readFileSync(readme, 'utf8')).map(({ output }) => output)
  const expected = [/"name": "localhost"/, /"alias": "Faster"/, /^302 https:/, /The titel field is unknown/]
  assert.equal(outputs.length, expected.length)
  for (const [at, pattern] of expected.entries()) assert.match(outputs[at] as string, pattern)
  const stepsOn = (page: string) => stepsOf(readFileSync(pageNamed(page), 'utf8')).length
  assert.ok(stepsOn('tour') > 18 && stepsOn('command-line') > 12)
})

test('links between documents have an existing file and heading', () => {
  const documents = globSync(['**/*.md', '.github/**/*.md'], { cwd: repository, exclude: ['node_modules'] }).map(
    (name) => join(repository, name),
  )
  assert.ok(documents.length > 30)
  for (const path of documents) {
    for (const [, file = '', heading] of withoutCode(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const target = file === '' ? path : join(dirname(path), file)
      assert.ok(existsSync(target), `${path} links to ${file}`)
      if (heading !== undefined) assert.ok(headingsOf(target).includes(heading), `${path} links to ${file}#${heading}`)
    }
  }
})

test('ARCHITECTURE.md and the decision records name only files that exist', () => {
  const records = readdirSync(join(repository, 'docs/adr')).map((name) => join(repository, 'docs/adr', name))
  for (const path of [join(repository, 'ARCHITECTURE.md'), ...records]) {
    for (const [, name = ''] of withoutCode(path).matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|js|json))`/g)) {
      const places = [repository, join(repository, 'src')].map((folder) => join(folder, name))
      assert.ok(places.some(existsSync), `${path} names ${name}`)
    }
  }
})

test('a page has up to 350 lines, and one of more than 150 links to each of its sections', () => {
  for (const name of readdirSync(join(repository, 'docs')).filter((name) => name.endsWith('.md'))) {
    const page = readFileSync(join(repository, 'docs', name), 'utf8')
    const lines = page.split('\n').length
    assert.ok(lines <= 350, `${name} has ${lines} lines`)
    if (lines <= 150) continue
    const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
    assert.ok(sections.length > 2, name)
    for (const section of sections) assert.ok(page.includes(`(#${section})`), `${name} has no link to #${section}`)
  }
})

test('docs/dashboard.md has the limits, the filters and the shortcuts of the dashboard', () => {
  const page = readFileSync(pageNamed('dashboard'), 'utf8')
  const facts = [`No clicks in ${idleDays} days`, `younger than ${idleDays} days`, `Ends within ${endingDays} days`]
  facts.push(`up to ${formatCount(maxBulkLinks)} links`, `up to ${maxFileBytes / 1024 / 1024} MB`)
  for (const fact of facts) assert.ok(page.includes(fact), fact)
  const script = readFileSync(join(repository, 'src/dashboard/scripts/shortcuts.js'), 'utf8')
  const [, explained = ''] = /const explained = (\[\n[\s\S]*?\n\])/.exec(script) ?? []
  const shortcuts = [...explained.matchAll(/\['(.+?)', /g)].map(([, keys = '']) =>
    keys.split(' ').map((key) => `\`${key}\``),
  )
  assert.ok(shortcuts.length > 7)
  for (const keys of shortcuts) assert.ok(page.includes(keys.join(' ')), keys.join(' '))
})

/** Returns the anchors of a document's headings. */
function headingsOf(path: string): string[] {
  return [...withoutCode(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

function withoutCode(path: string): string {
  return readFileSync(path, 'utf8').replace(/^```[\s\S]*?^```/gm, '')
}

test('docs/capacity.md has the figures of bench/README.md', () => {
  const rows = readFileSync(join(repository, 'bench/README.md'), 'utf8').split('\n')
  const capacity = readFileSync(join(repository, 'docs/capacity.md'), 'utf8')
  const figures = [...capacity.matchAll(/^\| [^|]+ \| (\d+) µs \| (\d+) µs \|$/gm)]
  assert.ok(figures.length >= 8)
  for (const [row, few, many] of figures) {
    assert.ok(
      rows.some((line) => line.includes(`| ${few} |`) && line.includes(`| ${many} |`)),
      row,
    )
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
