/** Redirect servers, each in its own process, and crowds of visitors. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, type Json, type Request, sendRequest } from './client.ts'
import { newDatabase as newPostgresDatabase } from './postgres-database.ts'
import { type Bench, freePort, newDatabase, type RunningServer, startServer, type Variables } from './processes.ts'
import { isOverloaded, type VisitRequest, visit } from './visitors.ts'

/** The pause between two visits of one visitor in a crowd, in milliseconds. */
const pauseMs = 15

export interface VisitedServer extends RunningServer {
  readonly visitPort: number
  readonly opsPort: number
  /** Asks the visitors' listener for a URL, on a connection of its own; again while the server says that it is overloaded. */
  visit(url: string, request?: VisitRequest): Promise<Answer>
  /** The present value of a metric without labels, from the ops listener. */
  metric(name: string): Promise<number>
  /** Asks the API for a path below `/api/v1`, with the key of the instance. */
  ask(method: string, path: string, request?: Request): Promise<Answer>
  /** Stores a record; returns it. */
  stored(path: string, json: Json): Promise<Json>
}

/** A server on free ports. `key` is that of the instance, if another server has printed it. */
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

/** The variables of a new database on the engine. */
export async function databaseOn(t: Bench, engine: 'sqlite' | 'postgres'): Promise<Variables> {
  if (engine === 'sqlite') return newDatabase(t).variables
  const { url, drop } = await newPostgresDatabase()
  t.after(drop)
  return { DATABASE_URL: url }
}

/** Two servers on one database. */
export async function startTwo(t: Bench, variables: Variables): Promise<readonly [VisitedServer, VisitedServer]> {
  const first = await startVisited(t, variables)
  return [first, await startVisited(t, variables, first.key)]
}

export interface Visited {
  /** Milliseconds since the visitors came. */
  readonly at: number
  readonly url: string
  readonly port: number
  /** Null when no answer came. */
  readonly status: number | null
}

/** Visitors who each visit the links one after another until `end`. */
export class Crowd {
  readonly visits: Visited[] = []
  readonly #begun = performance.now()
  readonly #people: Promise<void>[]
  #isOver = false

  /** They are shared out among the servers, and leave with the test at the latest. */
  constructor(t: Bench, servers: readonly VisitedServer[], urls: readonly string[], people = 8) {
    this.#people = Array.from({ length: people }, (_, person) => {
      const { visitPort } = servers[person % servers.length] as VisitedServer
      return this.#follow(visitPort, urls, Math.floor(person / servers.length))
    })
    t.after(() => this.end())
  }

  /** Milliseconds since they came. */
  now(): number {
    return performance.now() - this.#begun
  }

  /** How many were sent on, by all servers or by the one at the port. */
  redirected(port?: number): number {
    return this.visits.filter((visit) => visit.status === 302 && (port ?? visit.port) === visit.port).length
  }

  /** Those of one link. */
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
      // A busy machine sheds load.
      const isShed = answer !== null && isOverloaded(answer)
      if (!isShed) this.visits.push({ at, url, port, status: answer?.status ?? null })
      await wait(answer === null || answer.status === 503 ? 4 * pauseMs : pauseMs)
    }
    agent.destroy()
  }
}

/** How often there was each status. */
export function statusesOf(visits: readonly Visited[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of visits) counts[status ?? 'none'] = (counts[status ?? 'none'] ?? 0) + 1
  return counts
}
