/**
 * Computes figures from readings, and compares them with the targets.
 */
import { cpus } from 'node:os'
import type { Reading, Result, Round } from './measure.ts'
import type { Options } from './options.ts'
import type { SeedKind } from './seed.ts'
import * as targets from './targets.ts'

/** Figures of one case on one database: medians of the rounds, and the longest event-loop tick. */
export interface CaseFigures {
  readonly name: string
  readonly title: string
  readonly records: number
  readonly waymark: Reading
  readonly raw: Reading
  /** Requests per second, divided by the raw server's in the same round. */
  readonly rateRatio: number
  /** The raw server's CPU time per request, divided by Waymark's in the same round. */
  readonly cpuRatio: number
  /** The longest event-loop ticks in milliseconds, medians of the rounds. */
  readonly tick: { readonly waymark: number; readonly raw: number }
}

/** Slowdown of a case from the fewest to the most records, in the same round. */
export interface GrowthFigures {
  readonly name: string
  readonly title: string
  readonly fewest: number
  readonly most: number
  readonly rate: number
  readonly cpu: number
}

/** Speed of a case relative to another case in the same rounds. */
export interface ShareFigures {
  readonly name: string
  readonly title: string
  readonly records: number
  /** Requests per second divided by the other case's, and the inverse for CPU time. */
  readonly rate: number
  readonly cpu: number
}

export interface ProcessFigures {
  readonly kind: SeedKind
  readonly records: number
  readonly rssMb: number
  readonly peakRssMb: number
  /** The times from starts to first responses, in milliseconds. */
  readonly startMs: readonly number[]
  /** The same of the raw server, alternating with the starts of Waymark. */
  readonly rawStartMs: readonly number[]
}

export interface Verdict {
  /** The figure and its bound. */
  readonly target: string
  readonly figure: number
  readonly reached: boolean
}

export interface Figures {
  readonly machine: string
  readonly rounds: string
  readonly cases: readonly CaseFigures[]
  readonly growth: readonly GrowthFigures[]
  readonly shares: readonly ShareFigures[]
  readonly processes: readonly ProcessFigures[]
  /** Empty without `--gate`. */
  readonly verdicts: readonly Verdict[]
}

export function figuresOf(results: readonly Result[], processes: readonly ProcessFigures[], options: Options): Figures {
  const cases = results.map(caseFigures)
  const growth = growthFigures(results, options.sizes)
  const shares = shareFigures(results)
  return {
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${process.platform} ${process.arch}, Node ${process.versions.node}`,
    rounds: `${options.nodes === 1 ? 'one node' : `${options.nodes} nodes`}; ${options.rounds} rounds of ${options.roundSeconds} s`,
    cases,
    growth,
    shares,
    processes,
    verdicts: options.gate ? verdictsOf({ cases, growth, shares, processes }, options) : [],
  }
}

function verdictsOf(
  { cases, growth, shares, processes }: Pick<Figures, 'cases' | 'growth' | 'shares' | 'processes'>,
  { postgres }: Options,
): Verdict[] {
  return [
    ...cases.flatMap((figures) => caseVerdicts(figures, postgres)),
    ...growth.flatMap(growthVerdicts),
    ...shares.flatMap(({ name, title, records, rate }) =>
      atLeast(targets.minShare[name], rate, `${title}, ${records} records: requests/s`),
    ),
    ...processes.flatMap(processVerdicts),
  ]
}

function caseVerdicts(
  { name, title, records, rateRatio, cpuRatio, waymark, raw, tick }: CaseFigures,
  postgres: boolean,
) {
  const what = `${title}, ${records} records${postgres ? ', PostgreSQL' : ''}`
  const minRatio = postgres ? targets.minRatioOnPostgres : targets.minRatio
  return [
    ...atLeast(minRatio[name], rateRatio, `${what}: requests/s of raw`),
    ...(postgres ? [] : atLeast(targets.minCpuRatio[name], cpuRatio, `${what}: CPU ratio`)),
    ...atMost(targets.maxP99Ratio[name], waymark.p99 / raw.p99, `${what}: p99 of raw`),
    // A tick of the raw server of this length shows that other processes keep the machine busy.
    ...atMost(
      Math.max(targets.maxTickResponses, (1_000 * tick.raw) / raw.cpu),
      (1_000 * tick.waymark) / raw.cpu,
      `${what}: event-loop tick in raw responses`,
    ),
  ]
}

function growthVerdicts({ name, title, rate, cpu }: GrowthFigures): Verdict[] {
  const max = targets.maxGrowth[name]
  return [
    ...atMost(max, rate, `${title}: growth in time per request`),
    ...atMost(max, cpu, `${title}: growth in CPU per request`),
  ]
}

function processVerdicts(figures: ProcessFigures): Verdict[] {
  const { kind, records, rssMb } = figures
  const what = `${records} ${kind}`
  return [
    ...atMost(targets.maxRssMb[kind], rssMb, `${what}: RSS MB`),
    ...atMost(targets.maxStartRatio[kind], startRatio(figures), `${what}: start of raw`),
  ]
}

/** Returns how many times as long as the raw server Waymark takes from its start to its first response. */
export function startRatio({ startMs, rawStartMs }: Pick<ProcessFigures, 'startMs' | 'rawStartMs'>): number {
  return median(startMs) / median(rawStartMs)
}

/** Judges a figure. Returns nothing if it has no bound. */
export function atLeast(min: number | undefined, figure: number, what: string): Verdict[] {
  return min === undefined ? [] : [{ target: `${what} ≥ ${round(min)}`, figure, reached: figure >= min }]
}

export function atMost(max: number | undefined, figure: number, what: string): Verdict[] {
  return max === undefined ? [] : [{ target: `${what} ≤ ${round(max)}`, figure, reached: figure <= max }]
}

function round(bound: number): number {
  return Math.round(bound * 100) / 100
}

export function median(values: readonly number[]): number {
  const ascending = values.toSorted((a, b) => a - b)
  const [low, high] = [ascending[(ascending.length - 1) >> 1], ascending[ascending.length >> 1]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

function caseFigures({ case: { name, title }, records, rounds }: Result): CaseFigures {
  return {
    name,
    title,
    records,
    waymark: medianReading(rounds.map(({ waymark }) => waymark)),
    raw: medianReading(rounds.map(({ raw }) => raw)),
    rateRatio: median(rounds.map(({ waymark, raw }) => waymark.rate / raw.rate)),
    cpuRatio: median(rounds.map(({ waymark, raw }) => raw.cpu / waymark.cpu)),
    tick: {
      waymark: median(rounds.map(({ waymark }) => waymark.longestTick)),
      raw: median(rounds.map(({ raw }) => raw.longestTick)),
    },
  }
}

function medianReading(readings: readonly Reading[]): Reading {
  const of = (figure: keyof Reading) => median(readings.map((reading) => reading[figure]))
  return {
    rate: of('rate'),
    cpu: of('cpu'),
    loopCpu: of('loopCpu'),
    busy: of('busy'),
    p50: of('p50'),
    p99: of('p99'),
    longestTick: Math.max(...readings.map(({ longestTick }) => longestTick)),
  }
}

function growthFigures(results: readonly Result[], sizes: readonly number[]): GrowthFigures[] {
  const [fewest, most] = [sizes[0] as number, sizes[sizes.length - 1] as number]
  if (fewest === most) return []
  return results
    .filter((result) => result.records === most)
    .map((large) => {
      const small = results.find((result) => result.records === fewest && result.case === large.case) as Result
      const growth = (of: (few: Round, many: Round) => number) =>
        median(small.rounds.map((round, at) => of(round, large.rounds[at] as Round)))
      return {
        name: large.case.name,
        title: large.case.title,
        fewest,
        most,
        rate: growth((few, many) => few.waymark.rate / many.waymark.rate),
        cpu: growth((few, many) => many.waymark.cpu / few.waymark.cpu),
      }
    })
}

/** Compares each case with the case that it names. */
function shareFigures(results: readonly Result[]): ShareFigures[] {
  return results.flatMap((other) => {
    const own = results.find(
      ({ case: { name }, records }) => name === other.case.comparedWith && records === other.records,
    )
    if (own === undefined) return []
    const share = (of: (own: Round, other: Round) => number) =>
      median(own.rounds.map((round, at) => of(round, other.rounds[at] as Round)))
    return [
      {
        name: own.case.name,
        title: `${own.case.title} / ${other.case.title}`,
        records: own.records,
        rate: share((one, two) => one.waymark.rate / two.waymark.rate),
        cpu: share((one, two) => two.waymark.cpu / one.waymark.cpu),
      },
    ]
  })
}
