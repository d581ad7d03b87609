/**
 * Alternates between Waymark and the raw server, so that other processes on the machine affect both.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Call, call } from './call.ts'
import type { Case, Stock } from './case.ts'
import type { ClickWatch } from './click-watch.ts'
import type { IndexWatch } from './index-watch.ts'
import { drive, type Load, UnexpectedAnswers } from './load.ts'
import type { Options } from './options.ts'
import { drivePaced } from './paced-load.ts'
import { storeMore } from './seed.ts'
import type { Measured, Server } from './servers.ts'

/** A running Waymark on one prepared database. */
export interface Site {
  readonly stock: Stock
  readonly server: Measured
  readonly index: Pick<IndexWatch, 'caughtUp' | 'close'>
  readonly clicks: ClickWatch
}

/** The measurement of one server in one round. */
export interface Reading {
  /** Requests per second. */
  readonly rate: number
  /** CPU time per request in microseconds, on all threads and on the event loop. */
  readonly cpu: number
  readonly loopCpu: number
  /** Utilization of the event loop, from 0 to 1; the sum for several nodes. */
  readonly busy: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** The longest event-loop tick in milliseconds, including work after the responses. */
  readonly longestTick: number
}

export interface Round {
  readonly waymark: Reading
  readonly raw: Reading
}

export interface Result {
  readonly case: Case
  readonly records: number
  readonly rounds: readonly Round[]
}

/** Spare records per second of a round. */
const deletionsPerSecond = 20_000

type Pace = Pick<Options, 'rounds' | 'roundSeconds' | 'warmUpSeconds'>

/** Measures cases on every site in alternating rounds. Throws `UnexpectedAnswers`. */
export async function measure(
  cases: readonly Case[],
  sites: readonly Site[],
  raw: Server,
  pace: Pace,
): Promise<Result[]> {
  const measured: { measureRound: Awaited<ReturnType<typeof prepare>>; result: Result & { rounds: Round[] } }[] = []
  for (const each of cases) {
    for (const site of sites) {
      const measureRound = await prepare(each, site, raw, pace)
      measured.push({ measureRound, result: { case: each, records: site.stock.records, rounds: [] } })
    }
  }
  for (let round = 0; round < pace.rounds; round++) {
    for (const { measureRound, result } of measured) result.rounds.push(await measureRound(round % 2 === 1))
  }
  return measured.map(({ result }) => result)
}

/** Warms up Waymark and the raw server with one case. Returns a function that measures a round. */
async function prepare(measured: Case, site: Site, raw: Server, { rounds, roundSeconds, warmUpSeconds }: Pace) {
  const { listener, status, leaves, pace } = measured
  const { server, stock, clicks, index } = site
  const most = measured.usesUp ? Math.floor(deletionsPerSecond * roundSeconds) : undefined
  if (most !== undefined) await stockUp(site, most * (rounds + 1) + 2)
  const next = measured.calls(stock)
  const first = next()
  const answer = await call(server.ports[listener][0], first)
  if (answer.status !== status) throw new UnexpectedAnswers(`got ${answer.status}: ${answer.body}`)
  if (leaves === 'clicks') await clicks.grown(1, 1)

  /** Waits for work after the responses, so that its CPU time counts for these requests. */
  const settle: Settled = async ({ answered, sent }) => {
    if (leaves === 'clicks') await clicks.grown(answered, sent)
    if (leaves === 'unindexed records') await index.caughtUp()
    // The thread of each answers in order: this one last.
    if (leaves === 'questions') for (const port of server.ports[listener]) await call(port, next())
  }
  const measureServer = async (server: Measured, next: () => Call, seconds: number, settled: Settled) => {
    const load = { ports: server.ports[listener], seconds, status, next }
    if (pace === 'full') return reading(server, () => drive({ ...load, most }), settled)
    const full = await drive(load)
    await settled(full)
    return reading(server, () => drivePaced({ ...load, perSecond: full.answered / full.seconds / 2 }), settled)
  }
  const measureWaymark = (seconds: number) => measureServer(server, next, seconds, settle)
  /** The raw server sends a real response of Waymark. It ignores requests, so they are the same each time. */
  const measureRaw = async (seconds: number) => {
    await raw.answerWith(answer)
    const settled = async () => undefined
    return measureServer(raw, () => first, seconds, settled)
  }

  await measureWaymark(warmUpSeconds)
  await measureRaw(warmUpSeconds)
  return async (rawFirst: boolean): Promise<Round> => {
    const before = rawFirst ? await measureRaw(roundSeconds) : null
    const waymark = await measureWaymark(roundSeconds)
    return { waymark, raw: before ?? (await measureRaw(roundSeconds)) }
  }
}

/** Waits for work after the responses of a load. */
type Settled = (load: Load) => Promise<void>

async function reading(server: Measured, run: () => Promise<Load>, settled: Settled): Promise<Reading> {
  const before = await server.usage()
  const load = await run()
  const during = await server.usage()
  await settled(load)
  const after = await server.usage()
  return {
    rate: load.answered / load.seconds,
    cpu: (after.cpu - before.cpu) / load.sent,
    loopCpu: (after.loopCpu - before.loopCpu) / load.sent,
    busy: (during.loopCpu - before.loopCpu) / 1e6 / load.seconds,
    p50: at(load.latencies, 0.5),
    p99: at(load.latencies, 0.99),
    longestTick: Math.max(during.longestTick, after.longestTick),
  }
}

/** Stores spare records. */
async function stockUp({ stock, index, server }: Site, count: number): Promise<void> {
  const ids = await storeMore(stock, firstSpare, count)
  firstSpare += count
  for (const id of ids) stock.spare.push(id)
  await index.caughtUp()
  await atRest(server)
}

/** Longer than the interval of the search index. */
const idleCheckMs = 2_500
const maxIdleChecks = 3

/** Waits until the server is idle. */
async function atRest(server: Measured): Promise<void> {
  for (let check = 0; check < maxIdleChecks; check++) {
    const before = await server.usage()
    await sleep(idleCheckMs)
    const after = await server.usage()
    if (after.cpu - before.cpu < idleCheckMs * 1e3 * 0.02) return
  }
}

/** Higher than the record numbers of any prepared database. */
let firstSpare = 100_000_000

function at(ascending: Float64Array, share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}
