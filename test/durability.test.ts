import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Json, sendRequest } from './client.ts'
import { newDatabase, type RunningServer, startServer } from './processes.ts'
import { runs } from './runs.ts'

/** How often the server is killed amid writes, and by how many writers at once. */
const rounds = runs(16, 4)
const writers = 16
/** The server is killed after this many acknowledged writes of a round, at most. */
const maxWrites = 400

const resources = ['domains', 'spaces'] as const
type Resource = (typeof resources)[number]

/** A record as the API shows it. */
type Row = Readonly<Record<string, string | number | null>>

/** A write that was asked for and not acknowledged: it was done whole, or not at all. */
interface Pending {
  readonly resource: Resource
  /** Null when a record is to be stored. */
  readonly id: number | null
  /** Null when the record is to be deleted. */
  readonly values: Row | null
}

/** What the server has acknowledged. */
class Ledger {
  readonly rows = { domains: new Map<number, Row>(), spaces: new Map<number, Row>() }
  readonly deleted: { resource: Resource; name: string }[] = []
  pending: Pending[] = []
  acknowledged = 0
  readonly #everStored = { domains: new Set<number>(), spaces: new Set<number>() }

  acknowledge({ resource, id, values }: Pending, row: Row | undefined): void {
    this.acknowledged++
    if (values === null) this.#forget(resource, id as number)
    else if (id === null) this.#stored(resource, row as Row)
    else this.rows[resource].set(id, row as Row)
  }

  /** Takes each pending write for done or not done, as the rows show it, and throws when it was done by half. */
  settle(found: Readonly<Record<Resource, Map<number, Row>>>): void {
    for (const { resource, id, values } of this.pending) {
      if (id === null) {
        const stored = [...found[resource].values()].find(({ name }) => name === values?.name)
        if (stored === undefined) continue
        assertHas(stored, values as Row)
        this.#stored(resource, stored)
      } else {
        const row = found[resource].get(id)
        const isUnchanged = row?.updated_at === this.rows[resource].get(id)?.updated_at
        if (values === null && row === undefined) this.#forget(resource, id)
        if (values === null || row === undefined || isUnchanged) continue
        assertHas(row, values)
        this.rows[resource].set(id, row)
      }
    }
    this.pending = []
  }

  #stored(resource: Resource, row: Row): void {
    const id = row.id as number
    assert.equal(this.#everStored[resource].has(id), false, `the id ${id} was given out twice`)
    this.#everStored[resource].add(id)
    this.rows[resource].set(id, row)
  }

  #forget(resource: Resource, id: number): void {
    this.deleted.push({ resource, name: String(this.rows[resource].get(id)?.name) })
    this.rows[resource].delete(id)
  }
}

test('every acknowledged write survives a SIGKILL, whole, and no other does by half', async (t) => {
  const { path, variables } = newDatabase(t)
  const start = () => startServer(t, { ...variables, RATE_LIMIT: '0', LOG_LEVEL: 'warn' })
  const ledger = new Ledger()
  let server = await start()
  const { key } = server
  for (let round = 0; round < rounds; round++) {
    await writeUntilKilled(server, key, ledger, `r${round}`)
    server = await start()
    const found = { domains: await readAll(server, key, 'domains'), spaces: await readAll(server, key, 'spaces') }
    ledger.settle(found)
    assert.deepEqual(found, ledger.rows)
    await checkSearch(server, key, ledger)
    checkFile(path, ledger)
  }
  t.diagnostic(`${ledger.acknowledged} acknowledged writes in ${rounds} rounds`)
  assert.ok(ledger.acknowledged > rounds * 20)
})

/** Writes until the server is killed, at a moment that no writer knows. */
async function writeUntilKilled(server: RunningServer, key: string, ledger: Ledger, round: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: writers })
  const killAt = ledger.acknowledged + 20 + Math.floor(Math.random() * maxWrites)
  const write = async (writer: number): Promise<void> => {
    const own: Record<Resource, number[]> = { domains: [], spaces: [] }
    for (let turn = writer; ; turn++) {
      const wanted = nextWrite(own, turn, `${round}-w${writer}-t${turn}`)
      const done = await send(agent, server.port, key, wanted).catch(whenCut)
      if (done === undefined) return void ledger.pending.push(wanted)
      ledger.acknowledge(wanted, done.row)
      if (wanted.id === null) own[wanted.resource].push(Number(done.row?.id))
      if (ledger.acknowledged === killAt) server.child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  agent.destroy()
  assert.equal((await server.ended).signal, 'SIGKILL')
}

/** Stores most of the time; changes and deletes only what the same writer stored. */
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

async function send(agent: Agent, port: number, key: string, wanted: Pending): Promise<{ row: Row | undefined }> {
  const { resource, id, values } = wanted
  const method = id === null ? 'POST' : values === null ? 'DELETE' : 'PATCH'
  const path = `/api/v1/${resource}${id === null ? '' : `/${id}`}`
  const request = { key, ...(values && { json: values }) }
  for (;;) {
    const { status, body } = await sendRequest({ agent, port, method, path }, request)
    // A server that is overloaded has done nothing of what it turned away.
    if (status === 503 && body.code === 'overloaded') continue
    assert.equal(status, { POST: 201, DELETE: 204, PATCH: 200 }[method], `${method} ${path}`)
    return { row: body?.data }
  }
}

function whenCut(error: Error & { code?: string }): undefined {
  if (error.code !== 'ECONNRESET' && error.code !== 'ECONNREFUSED' && error.code !== 'EPIPE') throw error
}

/** All records by the pages of the list, whose total must be right. */
async function readAll(server: RunningServer, key: string, resource: Resource): Promise<Map<number, Row>> {
  const rows = new Map<number, Row>()
  for (let page = 1, last = 1; page <= last; page++) {
    const body = await get(server, key, `/api/v1/${resource}?per_page=100&sort=asc&page=${page}`)
    for (const row of body.data) rows.set(row.id, row)
    last = body.meta.last_page
    if (page === last) assert.equal(body.meta.total, rows.size)
  }
  return rows
}

/** A search finds what is there, as it is now, and nothing that was deleted. */
async function checkSearch(server: RunningServer, key: string, ledger: Ledger): Promise<void> {
  for (const resource of resources) {
    for (const row of [...ledger.rows[resource].values()].slice(-10)) {
      assert.deepEqual((await search(server, key, resource, String(row.name))).data, [row])
    }
  }
  for (const { resource, name } of ledger.deleted.slice(-10)) {
    assert.equal((await search(server, key, resource, name)).meta.total, 0, name)
  }
}

function search(server: RunningServer, key: string, resource: Resource, name: string): Promise<Json> {
  return get(server, key, `/api/v1/${resource}?search=${encodeURIComponent(name)}`)
}

async function get(server: RunningServer, key: string, path: string): Promise<Json> {
  const { status, body } = await server.send('GET', path, { key })
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
  return body
}

/** The file itself, as SQLite sees it. */
function checkFile(path: string, { rows }: Ledger): void {
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
      assert.deepEqual(values(`select total from record_counts where resource = '${resource}'`), [rows[resource].size])
    }
  } finally {
    database.close()
  }
}

function assertHas(row: Row, values: Row): void {
  assert.deepEqual({ ...row, ...values }, row)
}
