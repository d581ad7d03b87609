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
import type { Answer } from './raw-server.ts'
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
  const measured: { duel: Duel; result: Result & { readonly rounds: Round[] } }[] = []
  for (const each of cases) {
    for (const site of sites) {
      const duel = await Duel.between(each, site, raw, pace)
      measured.push({ duel, result: { case: each, records: site.stock.records, rounds: [] } })
    }
  }
  for (let round = 0; round < pace.rounds; round++) {
    for (const { duel, result } of measured) result.rounds.push(await duel.round(round % 2 === 1))
  }
  return measured.map(({ result }) => result)
}

/** Measures Waymark and the raw server with one case. */
class Duel {
  readonly site: Site
  readonly #case: Case
  readonly #raw: Server
  readonly #seconds: number
  readonly #most: number | undefined
  readonly #next: () => Call
  readonly #sample: { readonly call: Call; readonly answer: Answer }

  /** Warms up both servers. The raw server sends a real response of Waymark. */
  static async between(measured: Case, site: Site, raw: Server, pace: Pace): Promise<Duel> {
    const most = measured.usesUp ? Math.floor(deletionsPerSecond * pace.roundSeconds) : undefined
    if (most !== undefined) await stockUp(site, most * (pace.rounds + 1) + 2)
    const next = measured.calls(site.stock)
    const first = next()
    const answer = await call(site.server.ports[measured.listener][0], first)
    if (answer.status !== measured.status) throw new UnexpectedAnswers(`got ${answer.status}: ${answer.body}`)
    if (measured.leaves === 'clicks') await site.clicks.grown(1, 1)
    const sample = { call: first, answer }
    const duel = new Duel({ measured, site, raw, next, sample, most, seconds: pace.roundSeconds })
    await duel.#waymark(pace.warmUpSeconds)
    await duel.#rawServer(pace.warmUpSeconds)
    return duel
  }

  private constructor(parts: {
    measured: Case
    site: Site
    raw: Server
    next: () => Call
    sample: { call: Call; answer: Answer }
    most: number | undefined
    seconds: number
  }) {
    this.site = parts.site
    this.#case = parts.measured
    this.#raw = parts.raw
    this.#next = parts.next
    this.#sample = parts.sample
    this.#most = parts.most
    this.#seconds = parts.seconds
  }

  async round(rawFirst: boolean): Promise<Round> {
    const before = rawFirst ? await this.#rawServer(this.#seconds) : null
    const waymark = await this.#waymark(this.#seconds)
    return { waymark, raw: before ?? (await this.#rawServer(this.#seconds)) }
  }

  #waymark(seconds: number): Promise<Reading> {
    const { server } = this.site
    return this.#reading(server, this.#next, seconds, (load) => this.#settle(load))
  }

  /** Sends the same request each time, because the raw server ignores it. */
  async #rawServer(seconds: number): Promise<Reading> {
    const raw = this.#raw
    await raw.answerWith(this.#sample.answer)
    return this.#reading(
      raw,
      () => this.#sample.call,
      seconds,
      async () => undefined,
    )
  }

  async #reading(server: Measured, next: () => Call, seconds: number, settled: Settled): Promise<Reading> {
    const { listener, status, pace } = this.#case
    const load = { ports: server.ports[listener], seconds, status, next }
    if (pace === 'full') return reading(server, () => drive({ ...load, most: this.#most }), settled)
    const full = await drive(load)
    await settled(full)
    return reading(server, () => drivePaced({ ...load, perSecond: full.answered / full.seconds / 2 }), settled)
  }

  /** Waits for work after the responses, so that its CPU time counts for these requests. */
  async #settle({ answered, sent }: Load): Promise<void> {
    const { leaves, listener } = this.#case
    if (leaves === 'clicks') await this.site.clicks.grown(answered, sent)
    if (leaves === 'unindexed records') await this.site.index.caughtUp()
    // The thread of each answers in order: this one last.
    if (leaves === 'questions') for (const port of this.site.server.ports[listener]) await call(port, this.#next())
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
