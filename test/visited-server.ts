/** Servers, each in its own process, with crowds of visitors and of API clients, and what their database stores. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { addDay, type Breakdown, type DayJson, decodeDay, emptyDay } from '../src/analytics/day.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/port.ts'
import { clickLevels } from '../src/storage/schema.ts'
import { type Answer, isOverloaded, type Json, type Request, repeatWhileOverloaded, sendRequest } from './client.ts'
import { execute, patientUrl } from './postgres.ts'
import { newDatabase as newPostgresDatabase } from './postgres-database.ts'
import { type Bench, freePort, newDatabase, type RunningServer, type Variables } from './processes.ts'
import { type VisitRequest, visit } from './visitors.ts'
import { startServer } from './waymark.ts'

/** The pause between two visits of one visitor in a crowd, in milliseconds. */
const pauseMs = 25

export interface VisitedServer extends RunningServer {
  readonly visitPort: number
  readonly opsPort: number
  /** Requests a URL on a new connection. Repeats the request while the server is overloaded. */
  visit(url: string, request?: VisitRequest): Promise<Answer>
  /** Returns the value of a metric without labels. */
  metric(name: string): Promise<number>
  /** Requests a path below `/api/v1` with the instance's key. */
  ask(method: string, path: string, request?: Request): Promise<Answer>
  /** Stores and returns a record. */
  stored(path: string, json: Json): Promise<Json>
}

/** Starts a server on free ports. `key` is the instance's key if another server has printed it. */
export async function startVisited(t: Bench, variables: Variables, key?: string): Promise<VisitedServer> {
  const visitPort = await freePort()
  const opsPort = await freePort()
  const ports = { REDIRECT_PORT: String(visitPort), OPS_PORT: String(opsPort) }
  const server = await startServer(t, { RATE_LIMIT: '0', LOG_LEVEL: 'warn', ...ports, ...variables })
  const own = key ?? server.key
  const ask = (method: string, path: string, request: Request = {}) =>
    server.send(method, `/api/v1${path}`, { key: own, ...request })
  return {
    ...server,
    key: own,
    visitPort,
    opsPort,
    visit: (url, request) =>
      repeatWhileOverloaded(() => visit(visitPort, url, { agent: new Agent({ keepAlive: false }), ...request })),
    ask,
    metric: async (name) => {
      const target = { agent: undefined, port: opsPort, method: 'GET', path: '/metrics' }
      const { text } = await sendRequest(target, { key: null })
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    },
    stored: async (path, json) => {
      const answer = await ask('POST', path, { json })
      assert.equal(answer.status, 201, answer.text)
      return answer.body.data
    },
  }
}

/** Creates a database, and returns its variables. */
export async function databaseOn(t: Bench, engine: 'sqlite' | 'postgres'): Promise<Variables> {
  if (engine === 'sqlite') return newDatabase(t).variables
  const { url, drop } = await newPostgresDatabase()
  t.after(drop)
  return { DATABASE_URL: patientUrl(url) }
}

/** Opens the database in this process, too. */
export async function storageAt(t: Bench, { DATABASE_URL: url = '' }: Variables): Promise<Storage> {
  const isPostgres = url.startsWith('postgres:')
  const location = { engine: 'sqlite', path: url.replace(/^sqlite:/, '') } as const
  const storage = await openStorage(isPostgres ? { engine: 'postgres', url, pool: 4 } : location)
  t.after(() => storage.close())
  return storage
}

/** Runs a query on the database, without a server. */
export async function queryAt({ DATABASE_URL = '' }: Variables, text: string): Promise<Record<string, unknown>[]> {
  if (DATABASE_URL.startsWith('postgres:')) return execute(DATABASE_URL, text)
  using database = new DatabaseSync(DATABASE_URL.replace(/^sqlite:/, ''), { timeout: 300_000 })
  return database.prepare(text).all()
}

/** Returns the stored link clicks. */
export async function storedClicks(variables: Variables, link: number): Promise<number> {
  const [row] = await queryAt(variables, `select clicks from link_clicks where link_id = ${link}`)
  return Number(row?.clicks)
}

/** Returns a link's stored human clicks by rule. */
export async function storedRules(variables: Variables, link: number): Promise<Breakdown> {
  const [hours, breakdowns] = ['hours', 'breakdowns'].map((column) => `cast(${column} as text) as ${column}`)
  const days = `select ${hours}, ${breakdowns} from click_days where scope = ${clickLevels.link} and id = ${link}`
  const sum = emptyDay()
  for (const day of await queryAt(variables, days)) addDay(sum, decodeDay(day as unknown as DayJson))
  return sum.breakdowns.rules
}

/** Starts two servers on one database. */
export async function startTwo(t: Bench, variables: Variables): Promise<readonly [VisitedServer, VisitedServer]> {
  const first = await startVisited(t, variables)
  return [first, await startVisited(t, variables, first.key)]
}

export interface Visited {
  /** Milliseconds since the first visit. */
  readonly at: number
  readonly url: string
  readonly port: number
  /** Null without a response. */
  readonly status: number | null
}

/** Visitors who each visit the links one after another until `end`. Responses of an overloaded server do not count. */
export class Crowd {
  readonly visits: Visited[] = []
  readonly #begun = performance.now()
  readonly #people: Promise<void>[]
  #isOver = false

  /** Distributes the visitors over the servers. They end with the test at the latest. */
  constructor(t: Bench, servers: readonly VisitedServer[], urls: readonly string[], people = 8) {
    this.#people = Array.from({ length: people }, (_, person) => {
      const { visitPort } = servers[person % servers.length] as VisitedServer
      return this.#follow(visitPort, urls, Math.floor(person / servers.length))
    })
    t.after(() => this.end())
  }

  /** Returns the milliseconds since the first visit. */
  now(): number {
    return performance.now() - this.#begun
  }

  /** Returns the number of redirects of all servers, or of the server at the port. */
  redirected(port?: number): number {
    return this.visits.filter((visit) => visit.status === 302 && (port ?? visit.port) === visit.port).length
  }

  /** Returns the visits of one link. */
  of(url: string): Visited[] {
    return this.visits.filter((visit) => visit.url === url)
  }

  since(ms: number): Visited[] {
    return this.visits.filter(({ at }) => at >= ms)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#people)
  }

  async #follow(port: number, urls: readonly string[], from: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let turn = from; !this.#isOver; turn++) {
      const url = urls[turn % urls.length] as string
      const at = this.now()
      const answer = await visit(port, url, { agent }).catch(() => null)
      if (answer === null || !isOverloaded(answer)) this.visits.push({ at, url, port, status: answer?.status ?? null })
      await wait(answer === null || answer.status === 503 ? 4 * pauseMs : pauseMs)
    }
    agent.destroy()
  }
}

/** Counts visits by status. */
export function statusesOf(visits: readonly Visited[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of visits) counts[status ?? 'none'] = (counts[status ?? 'none'] ?? 0) + 1
  return counts
}

interface Outcome {
  /** Milliseconds since the load began. */
  readonly at: number
  /** Null without a response. */
  readonly answer: Answer | null
}

/** Clients that each store spaces and show them, one request after another, until `end`. */
export class Load {
  readonly outcomes: Outcome[] = []
  /** The stored space ids. */
  readonly acknowledged: number[] = []
  readonly #agent = new Agent({ keepAlive: true })
  readonly #begun = performance.now()
  readonly #clients: Promise<void>[]
  #isOver = false

  /** Distributes the clients over the servers. They end with the test at the latest. */
  constructor(t: Bench, servers: readonly VisitedServer[], clients = 8) {
    this.#clients = Array.from({ length: clients }, (_, client) =>
      this.#work(servers[client % servers.length] as VisitedServer),
    )
    t.after(() => this.end())
  }

  /** Returns the milliseconds since the load began. */
  now(): number {
    return performance.now() - this.#begun
  }

  since(ms: number): Outcome[] {
    return this.outcomes.filter(({ at }) => at >= ms)
  }

  /**
   * Ends the clients. Asserts that every request succeeded, got 503 with Retry-After, or had no response, and that the
   * database has all acknowledged spaces.
   */
  async assertKept(variables: Variables): Promise<void> {
    await this.end()
    for (const { answer } of this.outcomes) {
      if (answer === null || answer.status < 300) continue
      assert.equal(answer.status, 503, answer.text)
      // Servers also shed load on a busy machine.
      assert.ok(['database_unavailable', 'overloaded'].includes(answer.body.code), answer.text)
      assert.equal(answer.headers['retry-after'], '1')
    }
    const found = new Set((await queryAt(variables, 'select id from spaces')).map(({ id }) => Number(id)))
    assert.deepEqual(
      this.acknowledged.filter((id) => !found.has(id)),
      [],
    )
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #work(server: VisitedServer): Promise<void> {
    while (!this.#isOver) {
      const stored = await this.#send(server, 'POST', '', { form: { name: 'kept', color: 1 } })
      if (stored?.status !== 201) await wait(pauseMs)
      else {
        this.acknowledged.push(stored.body.data.id)
        await this.#send(server, 'GET', `/${stored.body.data.id}`)
      }
    }
  }

  async #send({ port, key }: VisitedServer, method: string, path: string, request: Request = {}) {
    const at = this.now()
    const target = { agent: this.#agent, port, method, path: `/api/v1/spaces${path}` }
    const answer = await sendRequest(target, { key, ...request }).catch(() => null)
    this.outcomes.push({ at, answer })
    return answer
  }
}
