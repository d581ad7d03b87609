/** A stand-in for ClickHouse that accepts inserts over HTTP. TEST_CLICKHOUSE_URL can name a real server, like CLICKS_SINK. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ClickHouseTable } from '../src/analytics/sink/clickhouse.ts'
import { readConfig } from '../src/config/config.ts'
import type { Bench } from './processes.ts'
import { listenOn } from './servers.ts'

/** Returns the table of TEST_CLICKHOUSE_URL; null if the variable is not set. */
export function realClickHouse(): ClickHouseTable | null {
  const target = readConfig({ CLICKS_SINK: process.env.TEST_CLICKHOUSE_URL }).clicksSink?.target
  return target?.kind === 'clickhouse' ? target : null
}

/** Runs a statement on the server. Returns its output. */
export async function runOn(to: ClickHouseTable, statement: string): Promise<string> {
  const utf8 = (text: string) => Buffer.from(text).toString('latin1')
  const headers = { 'X-ClickHouse-User': utf8(to.user), 'X-ClickHouse-Key': utf8(to.password) }
  const query = new URLSearchParams({ database: to.database })
  const response = await fetch(`${to.url}/?${query}`, { method: 'POST', headers, body: statement })
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}

/**
 * How the server responds to an insert. `answers`: as ClickHouse does. `silent`: not at all. `breaks`: not at all, but the
 * rows are stored. `late error`: with an error after the status. `other server`: as another program. `no headers`: through
 * a proxy that removes the headers.
 */
export type Manner = 'answers' | 'silent' | 'breaks' | 'late error' | 'other server' | 'redirects' | 'no headers'

export class ClickHouseStandIn {
  manner: Manner = 'answers'
  /** The error of every insert. */
  error: string | null = null
  /** The lines of the table. */
  readonly rows: Record<string, unknown>[] = []
  readonly inserts: IncomingMessage[] = []
  readonly table: ClickHouseTable
  readonly #tokens = new Set<string | null>()

  constructor(port: number) {
    const names = { user: 'waymark', password: 'pä$$wörd', database: 'stats', table: 'clicks' }
    this.table = { url: `http://127.0.0.1:${port}`, ...names }
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    this.inserts.push(request)
    if (this.manner === 'silent') return
    if (this.manner === 'other server') return void response.end('<h1>It works!</h1>')
    if (this.manner === 'redirects') return void response.writeHead(307, { location: '/elsewhere' }).end()
    if (this.manner !== 'no headers') response.setHeader('X-ClickHouse-Server-Display-Name', 'stand-in')
    if (this.error !== null) return void response.writeHead(404).end(this.error)
    const error = this.#errorOf(request)
    if (error !== null) return void response.writeHead(error.status).end(error.text)
    if (this.manner === 'late error') return void response.end('Code: 241. DB::Exception: Memory limit exceeded.\n')
    this.#insert(new URL(request.url ?? '', this.table.url).searchParams.get('insert_deduplication_token'), body)
    if (this.manner === 'breaks') return void request.socket.destroy()
    response.end()
  }

  #errorOf({ url = '', headers }: IncomingMessage): { status: number; text: string } | null {
    const { user, password, database } = this.table
    const utf8 = (value: unknown) => Buffer.from(String(value), 'latin1').toString()
    const [saidUser, key] = [utf8(headers['x-clickhouse-user']), utf8(headers['x-clickhouse-key'])]
    const query = new URL(url, this.table.url).searchParams
    if (saidUser !== user || key !== password) {
      return { status: 403, text: `Code: 516. DB::Exception: ${saidUser}: Authentication failed: ${key} is wrong.\n` }
    }
    const isThere = query.get('database') === database && /^INSERT INTO clicks \(/.test(query.get('query') ?? '')
    if (isThere && query.get('async_insert') === '0') return null
    return { status: 404, text: "Code: 60. DB::Exception: Table doesn't exist. (UNKNOWN_TABLE) (version 25.8)\nstack" }
  }

  #insert(token: string | null, lines: string): void {
    if (this.#tokens.has(token)) return
    this.#tokens.add(token)
    for (const line of lines.trim().split('\n')) this.rows.push(JSON.parse(line))
  }
}

/** Starts a server on a free port for the duration of the test. */
export async function startClickHouse(t: Bench): Promise<ClickHouseStandIn> {
  const server = createServer((request, response) => void standIn.answer(request, response))
  const standIn = new ClickHouseStandIn(await listenOn(t, server))
  return standIn
}
