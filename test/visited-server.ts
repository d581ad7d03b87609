/** Redirect servers, each in its own process, and crowds of visitors. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, type Json, type Request, sendRequest } from './client.ts'
import { newDatabase as newPostgresDatabase } from './postgres-database.ts'
import { type Bench, freePort, newDatabase, type RunningServer, startServer, type Variables } from './processes.ts'
import { isOverloaded, type VisitRequest, visit } from './visitors.ts'

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
    visit: async (url, request) => {
      for (;;) {
        const answer = await visit(visitPort, url, { agent: new Agent({ keepAlive: false }), ...request })
        if (!isOverloaded(answer)) return answer
      }
    },
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
  return { DATABASE_URL: url }
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
