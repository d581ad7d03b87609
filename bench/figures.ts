/**
 * Figures out of readings, and whether they reach their targets.
 */
import { cpus } from 'node:os'
import type { Reading, Result, Round } from './measure.ts'
import type { Options } from './options.ts'
import type { SeedKind } from './seed.ts'
import {
  maxGrowth,
  maxHoldMs,
  maxP99Ms,
  maxRssMb,
  maxStartMs,
  minCpuRatio,
  minRatio,
  minRatioOnPostgres,
  minShare,
} from './targets.ts'

/** The figures of one case over one database: medians over its rounds, and the longest hold of all rounds. */
export interface CaseFigures {
  readonly name: string
  readonly title: string
  readonly records: number
  readonly waymark: Reading
  readonly raw: Reading
  /** Waymark's requests per second as a share of the raw server's of the same round. */
  readonly rateRatio: number
  /** The raw server's processor time per request as a share of Waymark's of the same round. */
  readonly cpuRatio: number
}

/** How many times slower a case is with the most records than with the fewest, in the same round. */
export interface GrowthFigures {
  readonly name: string
  readonly title: string
  readonly fewest: number
  readonly most: number
  readonly rate: number
  readonly cpu: number
}

/** How fast a case is beside another of the same rounds. */
export interface ShareFigures {
  readonly name: string
  readonly title: string
  readonly records: number
  /** Its requests per second as a share of the other's, and the other's processor time as a share of its own. */
  readonly rate: number
  readonly cpu: number
}

export interface ProcessFigures {
  readonly kind: SeedKind
  readonly records: number
  readonly rssMb: number
  readonly peakRssMb: number
  readonly startMs: readonly number[]
}

export interface Verdict {
  /** The bound, in words. */
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
  /** Of `--gate`; none without it. */
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
    ...cases.flatMap(postgres ? verdictsOnPostgres : ratioVerdicts),
    ...cases.flatMap(latencyVerdicts),
    ...growth.flatMap(growthVerdicts),
    ...shares.flatMap(shareVerdicts),
    ...processes.flatMap(processVerdicts),
  ]
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
    longestHold: Math.max(...readings.map(({ longestHold }) => longestHold)),
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

/** Each case beside another, with the other as the measure. */
function shareFigures(results: readonly Result[]): ShareFigures[] {
  return results.flatMap((other) => {
    const own = results.find(({ case: { name }, records }) => name === other.case.beside && records === other.records)
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

function verdictsOnPostgres({ name, title, records, rateRatio }: CaseFigures): Verdict[] {
  const min = minRatioOnPostgres[name]
  if (min === undefined) return []
  const target = `${title}, ${records} records, PostgreSQL: requests/s ≥ ${min} of raw`
  return [{ target, figure: rateRatio, reached: rateRatio >= min }]
}

function ratioVerdicts({ name, title, records, rateRatio, cpuRatio, waymark }: CaseFigures): Verdict[] {
  const what = `${title}, ${records} records`
  const verdicts: Verdict[] = []
  const min = minRatio[name]
  if (min !== undefined) {
    verdicts.push({ target: `${what}: requests/s ≥ ${min} of raw`, figure: rateRatio, reached: rateRatio >= min })
  }
  const minCpu = minCpuRatio[name]
  if (minCpu !== undefined) {
    verdicts.push({ target: `${what}: CPU ratio ≥ ${minCpu}`, figure: cpuRatio, reached: cpuRatio >= minCpu })
  }
  if (name === 'short-search') {
    const held = waymark.longestHold
    verdicts.push({
      target: `${what}: event loop never held > ${maxHoldMs} ms`,
      figure: held,
      reached: held <= maxHoldMs,
    })
  }
  return verdicts
}

function latencyVerdicts({ name, title, records, waymark: { p99 } }: CaseFigures): Verdict[] {
  const max = maxP99Ms[name]
  if (max === undefined) return []
  return [{ target: `${title}, ${records} records: p99 < ${max} ms`, figure: p99, reached: p99 < max }]
}

function shareVerdicts({ name, title, records, rate }: ShareFigures): Verdict[] {
  const min = minShare[name]
  if (min === undefined) return []
  return [{ target: `${title}, ${records} records: requests/s ≥ ${min}`, figure: rate, reached: rate >= min }]
}

function growthVerdicts({ name, title, rate, cpu }: GrowthFigures): Verdict[] {
  const max = maxGrowth[name]
  if (max === undefined) return []
  return [
    { target: `${title}: requests/s within ${max}× of few records`, figure: rate, reached: rate <= max },
    { target: `${title}: CPU per request within ${max}× of few records`, figure: cpu, reached: cpu <= max },
  ]
}

function processVerdicts({ kind, records, rssMb, startMs }: ProcessFigures): Verdict[] {
  const start = median(startMs)
  const [maxRss, maxStart] = [maxRssMb[kind], maxStartMs[kind]]
  const what = `with ${records} ${kind}`
  const verdicts = [{ target: `RSS ${what} < ${maxRss} MB`, figure: rssMb, reached: rssMb < maxRss }]
  if (maxStart === undefined) return verdicts
  return [...verdicts, { target: `start ${what} < ${maxStart} ms`, figure: start, reached: start < maxStart }]
}
