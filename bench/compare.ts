/**
 * Compares the speed of this checkout with another one, which has its own `node_modules`. Both run at the same time. Some
 * requests go to one of them, then some to the other. It takes five minutes.
 *
 *   npm run bench:compare -- ../other                   on SQLite
 *   npm run bench:compare -- ../other --postgres        on PostgreSQL: the server at TEST_POSTGRES_URL, or a new server
 *   npm run bench:compare -- ../other --only store      only operations with this text in their title
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { databaseUrl, execute, newName } from '../test/postgres.ts'
import { freePort } from '../test/processes.ts'
import { repository } from '../test/scripts.ts'
import { serverArguments } from '../test/waymark.ts'
import { type Call, call, withKey } from './call.ts'
import { anyOf } from './case.ts'
import { median } from './figures.ts'
import { threeRules } from './link-records.ts'
import { connections, drive } from './load.ts'
import { benchServer } from './postgres.ts'
import type { Usage } from './servers.ts'
import { browserHeads } from './visit-cases.ts'

const rounds = 12
/** Rounds before the first measured one. */
const warmUpRounds = 2
const slice = 2_500
const [domains, links] = [100, 1_000]
/** The key that a server prints when it starts for the first time. */
const issuedKey = /(wm_\w+)\s/

interface Operation {
  readonly status: number
  /** The requests of a slice; 2,500 by default. */
  readonly amount?: number
  /** The connections; 32 by default. */
  readonly clients?: number
  readonly isVisit?: boolean
  /** Returns what the nth request sends. Numbers start at 0 for each operation. */
  readonly request: (n: number) => [method: string, path: string, form?: string]
}

const operations: Readonly<Record<string, Operation>> = {
  'domain: show': { status: 200, request: (n) => ['GET', `domains/${1 + (n % domains)}`] },
  'domain: list of 10': { status: 200, request: () => ['GET', 'domains?per_page=10'] },
  'domain: update': {
    status: 200,
    request: (n) => ['PATCH', `domains/${1 + (n % domains)}`, `homepage_url=https%3A%2F%2Fexample.com%2F${n}`],
  },
  // Records are indexed in the background, so a shorter slice would leave this work to the other server's slice.
  'domain: store': { status: 201, amount: 10_000, request: (n) => ['POST', 'domains', `name=d${n}.example.com`] },
  'link: show': { status: 200, request: (n) => ['GET', `links/${1 + (n % links)}`] },
  'link: list of 10': { status: 200, request: () => ['GET', 'links?per_page=10'] },
  // Clicks are written every half second, so a shorter slice would leave this work to the other server's slice.
  redirect: { status: 302, amount: 40_000, isVisit: true, request: (n) => ['GET', `link${1 + (n % links)}`] },
  // In a checkout that knows no rules, these links have none.
  'redirect with three rules': {
    status: 302,
    amount: 40_000,
    isVisit: true,
    request: (n) => ['GET', `ruled${1 + (n % links)}`],
  },
  'unknown alias': { status: 404, amount: 40_000, isVisit: true, request: (n) => ['GET', `none${n}`] },
  'link: store': {
    status: 201,
    amount: 10_000,
    request: (n) => ['POST', 'links', `url=https%3A%2F%2Fexample.com%2F${n}`],
  },
  'link: update': {
    status: 200,
    request: (n) => ['PATCH', `links/${1 + (n % links)}`, `title=Title+${n}`],
  },
  'link: rename': {
    status: 200,
    request: (n) => ['PATCH', `links/${1 + (n % links)}`, `alias=renamed${n}`],
  },
  // Links that 'link: store' has stored.
  'link: delete': { status: 204, request: (n) => ['DELETE', `links/${2 * links + 1 + n}`] },
  'link: store 100 at once': {
    status: 200,
    amount: 100,
    clients: 2,
    request: (n) => [
      'POST',
      'links/bulk',
      JSON.stringify({ links: Array(100).fill({ url: `https://acme.com/${n}` }) }),
    ],
  },
  'link: update 100 at once': {
    status: 200,
    amount: 100,
    clients: 2,
    request: (n) => ['PATCH', 'links/bulk', JSON.stringify({ ids: hundred(n), set: { title: `Title ${n}` } })],
  },
}

/** Returns a hundred link ids. */
function hundred(n: number): number[] {
  return Array.from({ length: 100 }, (_, at) => 1 + ((100 * n + at) % links))
}

interface Candidate {
  readonly child: ChildProcess
  readonly port: number
  readonly visitPort: number
  readonly key: string
  /** Seconds, and microseconds of CPU time, per slice. */
  seconds: number[]
  cpu: number[]
}

const { values, positionals } = parseArgs({
  options: { postgres: { type: 'boolean' }, only: { type: 'string', default: '' } },
  allowPositionals: true,
})
if (positionals.length !== 1) {
  process.stderr.write('Name the folder of the other checkout: npm run bench:compare -- ../other\n')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'waymark-compare-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const server = values.postgres ? await benchServer() : null
const checkouts = [resolve(positionals[0] as string), repository]
const candidates: Candidate[] = []
for (const [at, checkout] of checkouts.entries()) candidates.push(await open(checkout, await newDatabase(at)))

process.stdout.write('| operation | speed | CPU |\n|---|--:|--:|\n')
for (const [title, operation] of Object.entries(operations)) {
  if (!title.includes(values.only)) continue
  let sent = 0
  for (const candidate of candidates) Object.assign(candidate, { seconds: [], cpu: [] })
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const candidate of round % 2 === 0 ? candidates : candidates.toReversed()) {
      await measureSlice(candidate, operation, sent, round >= 0)
    }
    // Autocannon prepares a request for each connection in advance.
    sent += 2 * (operation.amount ?? slice)
  }
  const [other, own] = candidates as [Candidate, Candidate]
  const speed = median(other.seconds) / median(own.seconds)
  const cpu = median(other.cpu) / median(own.cpu)
  process.stdout.write(`| ${title} | ${speed.toFixed(2)} | ${cpu.toFixed(2)} |\n`)
}
for (const { child } of candidates) {
  child.kill()
  await once(child, 'exit')
}
await server?.stop()

/** Creates a database, and returns its URL. */
async function newDatabase(number: number): Promise<string> {
  if (server === null) return `sqlite:${join(folder, `${number}.db`)}`
  const name = newName('compare')
  await execute(server.url, `create database ${name} template template0`)
  return databaseUrl(server.url, name)
}

/** Starts the server of a checkout on an empty database, and stores domains and links. */
async function open(checkout: string, url: string): Promise<Candidate> {
  const port = await freePort()
  const visitPort = await freePort()
  const observer = pathToFileURL(join(import.meta.dirname, 'observer.mjs')).href
  const args = serverArguments.map((argument) => argument.replace(repository, `${checkout}/`))
  const child = spawn(process.execPath, ['--import', observer, ...args], {
    cwd: checkout,
    env: {
      PORT: String(port),
      REDIRECT_PORT: String(visitPort),
      // Each visit has another address, so that countries are looked up.
      TRUST_PROXY: '1',
      OPS_PORT: '0',
      RATE_LIMIT: '0',
      LOG_LEVEL: 'warn',
      DATABASE_URL: url,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let printed = ''
  // The streams are always read, because a full pipe would block the server.
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      if (!issuedKey.test(printed)) printed += text
      child.emit('printed')
    })
  }
  while (!issuedKey.test(printed)) {
    await Promise.race([once(child, 'printed'), once(child, 'exit')])
    if (child.exitCode !== null) throw new Error(printed)
  }
  const key = issuedKey.exec(printed)?.[1] as string
  const stored = (path: string, form: string) => call(port, { ...withKey(key), method: 'POST', path, form })
  for (let n = 1; n <= domains; n++) await stored('/api/v1/domains', `name=host${n}.example.net`)
  for (let n = 1; n <= links; n++)
    await stored('/api/v1/links', `url=https%3A%2F%2Fexample.net&domain_id=1&alias=link${n}`)
  for (let n = 1; n <= links; n++) {
    const form = `url=https%3A%2F%2Fexample.net&domain_id=1&alias=ruled${n}`
    const { status } = await stored('/api/v1/links', `${form}&rules=${encodeURIComponent(threeRules)}`)
    if (status === 422) await stored('/api/v1/links', form)
  }
  return { child, port, visitPort, key, seconds: [], cpu: [] }
}

async function measureSlice(
  candidate: Candidate,
  { status, request, amount = slice, clients = connections, isVisit }: Operation,
  first: number,
  isCounted: boolean,
): Promise<void> {
  const { child, port, visitPort, key, seconds, cpu } = candidate
  let n = first
  const next = (): Call => {
    const [method, path, form = ''] = request(n++)
    if (isVisit) {
      const head = `${anyOf(browserHeads)}X-Forwarded-For: ${1 + (n % 120)}.${n % 251}.${n % 241}.7\r\n`
      return { host: 'host1.example.net', head, method, path: `/${path}`, form }
    }
    return { ...withKey(key), method, path: `/api/v1/${path}`, form }
  }
  const before = await cpuOf(child)
  const ports = [isVisit ? visitPort : port]
  const load = await drive({ ports, seconds: 60, status, next, most: amount, clients })
  if (!isCounted) return
  seconds.push(load.seconds)
  cpu.push((await cpuOf(child)) - before)
}

/** Returns the CPU time of the process in microseconds. */
async function cpuOf(child: ChildProcess): Promise<number> {
  const reply = once(child, 'message')
  child.send('usage')
  const [{ cpu }] = (await reply) as [Usage]
  return cpu
}
