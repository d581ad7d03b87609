/** Responses while PostgreSQL, its network or one of two nodes fails under load. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, sendRequest } from './client.ts'
import { execute, startPostgres } from './postgres.ts'
import { type Bench, eventually, type RunningServer, startServer } from './processes.ts'
import { Wire } from './wire.ts'

const spaces = '/api/v1/spaces'
interface Outcome {
  /** Milliseconds since the load began. */
  readonly at: number
  readonly tookMs: number
  /** Null when no answer came. */
  readonly answer: Answer | null
  readonly isWrite: boolean
}

/** Clients that store spaces and show them again, one request after the other, until `end`. */
class Load {
  readonly outcomes: Outcome[] = []
  readonly acknowledged: number[] = []
  readonly #agent = new Agent({ keepAlive: true })
  readonly #key: string
  readonly #begun = performance.now()
  readonly #clients: Promise<void>[]
  #isOver = false

  /** The clients are shared out among the servers. */
  constructor(servers: readonly RunningServer[], key: string, clients = 8) {
    this.#key = key
    const serverOf = (client: number) => servers[client % servers.length] as RunningServer
    this.#clients = Array.from({ length: clients }, (_, client) => this.#work(serverOf(client)))
  }

  /** Milliseconds since it began. */
  now(): number {
    return performance.now() - this.#begun
  }

  since(ms: number): Outcome[] {
    return this.outcomes.filter(({ at }) => at >= ms)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #work(server: RunningServer): Promise<void> {
    while (!this.#isOver) {
      const stored = await this.#send(server, 'POST', spaces)
      if (stored?.status === 201) {
        this.acknowledged.push(stored.body.data.id)
        await this.#send(server, 'GET', `${spaces}/${stored.body.data.id}`)
      } else {
        // No server answered, or none could; try again at leisure.
        await wait(20)
      }
    }
  }

  async #send({ port }: RunningServer, method: string, path: string): Promise<Answer | null> {
    const at = this.now()
    const request = { key: this.#key, ...(method === 'POST' ? { form: { name: 'kept', color: 1 } } : {}) }
    const answer = await sendRequest({ agent: this.#agent, port, method, path }, request).catch(() => null)
    this.outcomes.push({ at, tookMs: this.now() - at, answer, isWrite: method === 'POST' })
    return answer
  }
}

const nodeVariables = { RATE_LIMIT: '0' }

function startNode(t: Bench, url: string): Promise<RunningServer> {
  return startServer(t, { ...nodeVariables, DATABASE_URL: url })
}

/** Every acknowledged write is there. Reports the figures of the load. */
async function assertKept(t: TestContext, load: Load, url: string): Promise<void> {
  const rows = await execute(url, 'select id from spaces')
  const found = new Set(rows.map(({ id }) => Number(id)))
  const lost = load.acknowledged.filter((id) => !found.has(id))
  const slowest = Math.max(...load.outcomes.map(({ tookMs }) => tookMs))
  t.diagnostic(
    `${load.outcomes.length} requests sent, ${load.acknowledged.length} writes acknowledged, ${found.size} found, ${lost.length} lost; ` +
      `slowest answer ${slowest.toFixed(0)} ms; answers: ${JSON.stringify(byStatus(load.outcomes))}`,
  )
  assert.deepEqual(lost, [])
}

function byStatus(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { answer } of outcomes) {
    const status = String(answer?.status ?? 'none')
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

/** Asserts that every request succeeded or got a 503 with Retry-After. */
function assertOrderly(outcomes: readonly Outcome[]): void {
  for (const { answer } of outcomes) {
    assert.ok(answer !== null, 'a request got no answer')
    if (answer.status < 300) continue
    // The server also sheds load on a busy machine.
    assert.ok(['database_unavailable', 'overloaded'].includes(answer.body.code), answer.text)
    assert.equal(answer.status, 503)
    assert.equal(answer.headers['retry-after'], '1')
  }
}

const postgres = await startPostgres()
after(() => postgres.stop())
const first = await startNode({ after }, postgres.url)
const { key } = first

test('503 under load while the database is down, then recovers without losing a write', async (t) => {
  const load = new Load([first], key)
  await eventually(() => load.acknowledged.length >= 100)

  await postgres.halt()
  const stoppedAt = load.now()
  const rejected = () => load.since(stoppedAt).filter(({ answer }) => answer?.status === 503).length
  await eventually(() => rejected() > 100)
  assert.ok(load.since(stoppedAt).every(({ answer }) => answer?.status !== 201))
  assert.equal((await first.send('GET', '/health')).status, 503)

  await postgres.resume()
  const { length } = load.acknowledged
  await eventually(() => load.acknowledged.length > length + 50)
  await load.end()
  assertOrderly(load.outcomes)
  await assertKept(t, load, postgres.url)
})

test('replaces connections that the database closes, without losing a write', async (t) => {
  const load = new Load([first], key)
  for (let cut = 1; cut <= 5; cut++) {
    const { length } = load.acknowledged
    await eventually(() => load.acknowledged.length > length + 20)
    const ended = await execute(
      postgres.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    assert.ok(ended.length > 0)
  }
  const { length } = load.acknowledged
  await eventually(() => load.acknowledged.length > length + 50)
  await load.end()
  assertOrderly(load.outcomes)
  await assertKept(t, load, postgres.url)
})

test('503 while the network is silent, then recovers; keeps serving after SIGKILL of another node, without losing a write', async (t) => {
  const wire = new Wire(postgres.url)
  t.after(() => wire.close())
  const second = await startNode(t, await wire.url())
  const store = () => second.send('POST', spaces, { key, form: { name: 'kept', color: 1 } })
  assert.equal((await store()).status, 201)
  wire.silence()
  const answers = await Promise.all([
    store(),
    store(),
    second.send('GET', spaces, { key }),
    second.send('GET', '/health'),
  ])
  for (const { status, body } of answers) assert.deepEqual([status, body.code], [503, 'database_unavailable'])
  wire.mend()
  await eventually(async () => (await store()).status === 201)

  const load = new Load([first, second], key)
  await eventually(() => load.acknowledged.length >= 100)
  await first.end('SIGKILL')
  const killedAt = load.now()
  const { length } = load.acknowledged
  await eventually(() => load.acknowledged.length >= length + 100)
  await load.end()
  assertOrderly(load.outcomes.filter(({ answer }) => answer !== null))
  assert.ok(load.since(killedAt).some(({ answer }) => answer?.status === 201))
  await assertKept(t, load, postgres.url)
  assert.equal((await second.end('SIGTERM')).code, 0)
})
