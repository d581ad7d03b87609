import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openStorage } from '../src/storage/open.ts'
import { query } from '../src/storage/schema.ts'
import { type Answer, type Json, sendRequest } from './client.ts'
import { signedIn } from './dashboard.ts'
import { fillLinks } from './links.ts'
import { linksOn } from './links-api.ts'
import { eventually, newBench, newDatabase } from './processes.ts'
import { runs } from './runs.ts'
import { startVisited, type VisitedServer } from './visited-server.ts'

/** The number of kills during writes, and of concurrent writers. */
const rounds = runs(16, 2)
const writers = 16
/** The server is killed after this many acknowledged writes of a round, at most. */
const maxWrites = 250
/** The links of each bulk request. */
const bulkSize = 200

const resources = ['domains', 'spaces'] as const
type Resource = (typeof resources)[number]

/** A record in a response. */
type Row = Readonly<Record<string, string | number | null>>

/** A request without a response. Its write is stored completely, or not at all. */
interface Pending {
  readonly resource: Resource
  /** Null for a new record. */
  readonly id: number | null
  /** Null for a deletion. */
  readonly values: Row | null
}

/** The writes that the server has acknowledged. */
class Ledger {
  readonly rows = { domains: new Map<number, Row>(), spaces: new Map<number, Row>() }
  readonly deleted: { resource: Resource; name: string }[] = []
  pending: Pending[] = []
  acknowledged = 0
  /** The text of the responses for new records. */
  readonly responses = new Map<Pending, string>()
  readonly #everStored = { domains: new Set<number>(), spaces: new Set<number>() }

  acknowledge(wanted: Pending, { body, text }: Answer): void {
    const { resource, id, values } = wanted
    this.acknowledged++
    if (values === null) this.#deleted(resource, id as number)
    else if (id !== null) this.rows[resource].set(id, body.data)
    else {
      this.#stored(resource, body.data)
      this.responses.set(wanted, text)
    }
  }

  /** Records which pending writes are stored. Throws if one is stored in part. Returns the new records that are missing. */
  settle(found: Readonly<Record<Resource, Map<number, Row>>>): Pending[] {
    const missing: Pending[] = []
    for (const wanted of this.pending) {
      const { resource, id, values } = wanted
      if (id === null) {
        const stored = [...found[resource].values()].find(({ name }) => name === values?.name)
        if (stored === undefined) missing.push(wanted)
        else {
          assertHas(stored, values as Row)
          this.#stored(resource, stored)
          this.responses.set(wanted, JSON.stringify({ data: stored }))
        }
      } else {
        const row = found[resource].get(id)
        const isUnchanged = row?.updated_at === this.rows[resource].get(id)?.updated_at
        if (values === null && row === undefined) this.#deleted(resource, id)
        if (values === null || row === undefined || isUnchanged) continue
        assertHas(row, values)
        this.rows[resource].set(id, row)
      }
    }
    this.pending = []
    return missing
  }

  #stored(resource: Resource, row: Row): void {
    const id = row.id as number
    assert.equal(this.#everStored[resource].has(id), false, `the id ${id} was assigned twice`)
    this.#everStored[resource].add(id)
    this.rows[resource].set(id, row)
  }

  #deleted(resource: Resource, id: number): void {
    this.deleted.push({ resource, name: String(this.rows[resource].get(id)?.name) })
    this.rows[resource].delete(id)
  }
}

const bench = newBench()
const { path, variables } = newDatabase(bench)
/** The server of the first test, which starts a new server after each kill. */
let server: VisitedServer

test('keeps every acknowledged write and its response after SIGKILL, and no write in part', async (t) => {
  server = await startVisited(t, variables)
  const ledger = new Ledger()
  const domain: Pending = { resource: 'domains', id: null, values: domainValues(null, 'bulk') }
  const stored = await send(new Agent(), domain)
  ledger.acknowledge(domain, stored)
  for (let round = 0; round < rounds; round++) {
    const bulk = storeLinksUntilKilled(stored.body.data.id, `r${round}`)
    await writeUntilKilled(ledger, `r${round}`)
    const acknowledged = await bulk
    server = await startVisited(t, variables, server.key)
    checkBulk(`r${round}`, acknowledged)
    const found = { domains: await readAll('domains'), spaces: await readAll('spaces') }
    const missing = ledger.settle(found)
    assert.deepEqual(found, ledger.rows)
    await checkSearch(ledger)
    checkFile(ledger)
    await checkRetries(ledger, missing)
  }
  t.diagnostic(`${ledger.acknowledged} acknowledged writes in ${rounds} rounds`)
  assert.ok(ledger.acknowledged > rounds * 20)
})

/** Writes until the server is killed after a random number of writes. */
async function writeUntilKilled(ledger: Ledger, round: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: writers })
  const killAt = ledger.acknowledged + 20 + Math.floor(Math.random() * maxWrites)
  const write = async (writer: number): Promise<void> => {
    const own: Record<Resource, number[]> = { domains: [], spaces: [] }
    for (let turn = writer; ; turn++) {
      const wanted = nextWrite(own, turn, `${round}-w${writer}-t${turn}`)
      const done = await send(agent, wanted).catch(whenCut)
      if (done === undefined) return void ledger.pending.push(wanted)
      ledger.acknowledge(wanted, done)
      if (wanted.id === null) own[wanted.resource].push(done.body.data.id)
      if (ledger.acknowledged === killAt) server.child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  agent.destroy()
  assert.equal((await server.ended).signal, 'SIGKILL')
}

/** Stores links with bulk requests until the server is killed. Returns how many requests were acknowledged. */
async function storeLinksUntilKilled(domain: number, round: string): Promise<number> {
  for (let request = 0; ; ) {
    const alias = (link: number) => `${round}-bulk${request}-${link}`
    const linkOf = (link: number) => ({
      domain_id: domain,
      alias: alias(link),
      url: 'https://acme.com/',
      tags: ['Bulk'],
    })
    const json = { links: Array.from({ length: bulkSize }, (_, link) => linkOf(link)) }
    const answer = await server.ask('POST', '/links/bulk', { json }).catch(whenCut)
    if (answer === undefined) return request
    if (answer.status === 503) continue
    assert.equal(answer.body.meta.succeeded, bulkSize)
    request++
  }
}

/** Returns a new record most of the time, or a change or deletion of the writer's own record. */
function nextWrite(own: Record<Resource, number[]>, turn: number, mark: string): Pending {
  const resource = resources[turn % 2] as Resource
  const oldest = own[resource][0]
  if (turn % 7 === 6 && oldest !== undefined) {
    own[resource].shift()
    return { resource, id: oldest, values: null }
  }
  const id = turn % 3 === 2 ? (own[resource].at(-1) ?? null) : null
  return { resource, id, values: resource === 'domains' ? domainValues(id, mark) : spaceValues(mark, turn) }
}

function domainValues(id: number | null, mark: string): Row {
  const urls = { homepage_url: `https://example.com/${mark}`, not_found_url: `https://example.com/${mark}/404` }
  return id === null ? { name: `${mark}.example.com`, ...urls } : urls
}

function spaceValues(mark: string, turn: number): Row {
  return { name: `Space <${mark}>`, color: (turn % 6) + 1 }
}

/** Sends a write. Each new record has its own Idempotency-Key. */
async function send(agent: Agent, { resource, id, values }: Pending): Promise<Answer> {
  const method = id === null ? 'POST' : values === null ? 'DELETE' : 'PATCH'
  const path = `/api/v1/${resource}${id === null ? '' : `/${id}`}`
  const headers: Record<string, string> =
    id === null ? { 'idempotency-key': encodeURIComponent(String(values?.name)) } : {}
  const { port, key } = server
  const request = { key, headers, ...(values && { json: values }) }
  for (;;) {
    const answer = await sendRequest({ agent, port, method, path }, request)
    // An overloaded server has not run the request.
    if (answer.status === 503 && answer.body.code === 'overloaded') continue
    assert.equal(answer.status, { POST: 201, DELETE: 204, PATCH: 200 }[method], `${method} ${path}: ${answer.text}`)
    return answer
  }
}

function whenCut(error: Error & { code?: string }): undefined {
  if (error.code !== 'ECONNRESET' && error.code !== 'ECONNREFUSED' && error.code !== 'EPIPE') throw error
}

/** Reads all records, page by page, and checks the total. */
async function readAll(resource: Resource): Promise<Map<number, Row>> {
  const rows = new Map<number, Row>()
  for (let page = 1, last = 1; page <= last; page++) {
    const body = await get(`/${resource}?per_page=100&sort=asc&page=${page}`)
    for (const row of body.data) rows.set(row.id, row)
    last = body.meta.last_page
    if (page === last) assert.equal(body.meta.total, rows.size)
  }
  return rows
}

/** Checks that searches find current records, and no deleted ones. */
async function checkSearch(ledger: Ledger): Promise<void> {
  for (const resource of resources) {
    for (const row of [...ledger.rows[resource].values()].slice(-10)) {
      assert.deepEqual((await search(resource, String(row.name))).data, [row])
    }
  }
  for (const { resource, name } of ledger.deleted.slice(-10)) {
    assert.equal((await search(resource, name)).meta.total, 0, name)
  }
}

function search(resource: Resource, name: string): Promise<Json> {
  return get(`/${resource}?search=${encodeURIComponent(name)}`)
}

async function get(path: string): Promise<Json> {
  const { status, body } = await server.ask('GET', path)
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
  return body
}

const isReplayed = ({ headers }: Answer) => headers['idempotency-replayed'] === 'true'

/** Repeats requests: a response is stored if its record was stored, and only then. */
async function checkRetries(ledger: Ledger, missing: readonly Pending[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (const [wanted, text] of [...ledger.responses].slice(-40)) {
    const again = await send(agent, wanted)
    assert.deepEqual([isReplayed(again), again.text], [true, text])
  }
  for (const wanted of missing) {
    const answer = await send(agent, wanted)
    assert.equal(isReplayed(answer), false)
    ledger.acknowledge(wanted, answer)
  }
  agent.destroy()
}

/** Checks that each bulk request stored all links and tags or none: all that were acknowledged, and at most one other. */
function checkBulk(round: string, acknowledged: number): void {
  using database = new DatabaseSync(path, { readOnly: true })
  const tagged = database
    .prepare('select alias from links join link_tags on link_id = links.id where alias like ?')
    .all(`${round}-bulk%`)
  const requests = Map.groupBy(tagged, ({ alias }) => String(alias).split('-')[1])
  assert.ok([acknowledged, acknowledged + 1].includes(requests.size), `${requests.size} of ${acknowledged} stored`)
  for (const links of requests.values()) assert.equal(links.length, bulkSize)
}

/** Checks the database file. */
function checkFile({ rows }: Ledger): void {
  const database = new DatabaseSync(path, { readOnly: true })
  const values = (text: string) =>
    database
      .prepare(text)
      .all()
      .map((row) => Object.values(row)[0])
  try {
    assert.deepEqual(values('pragma integrity_check'), ['ok'])
    assert.deepEqual(values('pragma foreign_key_check'), [])
    for (const resource of resources) {
      assert.deepEqual(values(`select total from record_counts where resource = '${resource}' and account_id > 0`), [
        rows[resource].size,
      ])
    }
  } finally {
    database.close()
  }
}

function assertHas(row: Row, values: Row): void {
  assert.deepEqual({ ...row, ...values }, row)
}

/** Starts a server on a new database, and opens the database in this process, too. */
async function startWithStorage(t: TestContext) {
  const { path, variables } = newDatabase(t)
  const server = await startVisited(t, variables)
  const storage = await openStorage({ engine: 'sqlite', path })
  t.after(() => storage.close())
  return { variables, server, storage }
}

test('SIGKILL during a move of many links leaves each link moved or not, and its event with it', async (t) => {
  const { server, storage } = await startWithStorage(t)
  const { id: from } = await server.stored('/domains', { name: 'from.acme.com' })
  const { id: to } = await server.stored('/domains', { name: 'to.acme.com' })
  await fillLinks(storage, { account: 1, domain: from }, 1, 3_000)
  const moved = query.selectFrom('links').select('id').where('domain_id', '=', to).orderBy('id')
  const browser = await signedIn(server)
  const list = `/app/links?domain_id=${from}`
  const form = { what: 'move', to: `domain-${to}`, matching: '1', next: list }
  const { page } = await browser.post('/app/links/selected', form)
  const moving = browser.submit(page, '/app/links/selected').catch(whenCut)
  await eventually(async () => (await storage.execute(moved.limit(1))).length > 0)
  server.child.kill('SIGKILL')
  await Promise.all([moving, server.ended])
  const ids = (await storage.execute(moved)).map(({ id }) => id)
  assert.ok(ids.length > 0)
  const logged = query
    .selectFrom('events')
    .select('record_id as link_id')
    .where('record', '=', 'link')
    .orderBy('record_id')
  const counted = query.selectFrom('link_clicks').select('link_id').where('domain_id', '=', to).orderBy('link_id')
  for (const rows of [await storage.execute(logged), await storage.execute(counted)]) {
    assert.deepEqual(
      rows.map(({ link_id }) => link_id),
      ids,
    )
  }
})

test('after a SIGKILL, the next start finishes a removal and serves the other links', async (t) => {
  const { variables, server, storage } = await startWithStorage(t)
  await server.stored('/domains', { name: 'go.acme.com' })
  await server.stored('/links', { alias: 'sale', url: 'https://acme.com/sale', redirect_status: 307 })
  const { id } = await server.stored('/domains', { name: 'doomed.acme.com' })
  for (const from of [1, 3_001]) await fillLinks(storage, { account: 1, domain: id }, from, 3_000)
  const count = async () => Number((await storage.execute(linksOn({ id })))[0]?.count)
  assert.equal(await count(), 6_000)
  const removed = server.ask('DELETE', `/domains/${id}?links=delete`).catch(whenCut)
  await eventually(async () => (await count()) < 5_900)
  await server.end('SIGKILL')
  await removed
  assert.ok((await count()) > 0, 'the removal was not interrupted')

  const next = await startVisited(t, variables, server.key)
  const { status, headers } = await next.visit('http://go.acme.com/sale')
  assert.deepEqual([status, headers.location], [307, 'https://acme.com/sale'])
  await eventually(async () => (await count()) === 0)
  assert.equal((await next.stored('/domains', { name: 'doomed.acme.com' })).id > id, true)
  assert.equal((await next.end('SIGTERM')).code, 0)
})
