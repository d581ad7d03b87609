/**
 * Figures out of readings, and whether they reach their targets.
 */
import { cpus } from 'node:os'
import type { Reading, Result, Round } from './measure.ts'
import type { Options } from './options.ts'
import { maxGrowth, maxHoldMs, maxRssMb, maxStartMs, minRatio, minRatioOnPostgres } from './targets.ts'

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

export interface ProcessFigures {
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
  readonly processes: readonly ProcessFigures[]
  /** Of `--gate`; none without it. */
  readonly verdicts: readonly Verdict[]
}

export function figuresOf(results: readonly Result[], processes: readonly ProcessFigures[], options: Options): Figures {
  const cases = results.map(caseFigures)
  const growth = growthFigures(results, options.sizes)
  return {
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${process.platform} ${process.arch}, Node ${process.versions.node}`,
    rounds: `${options.nodes === 1 ? 'one node' : `${options.nodes} nodes`}; ${options.rounds} rounds of ${options.roundSeconds} s`,
    cases,
    growth,
    processes,
    verdicts: options.gate ? verdictsOf(cases, growth, processes, options) : [],
  }
}

function verdictsOf(
  cases: readonly CaseFigures[],
  growth: readonly GrowthFigures[],
  processes: readonly ProcessFigures[],
  { postgres }: Options,
): Verdict[] {
  return [
    ...cases.flatMap(postgres ? verdictsOnPostgres : ratioVerdicts),
    ...growth.flatMap(growthVerdicts),
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
    verdicts.push(
      { target: `${what}: requests/s ≥ ${min} of raw`, figure: rateRatio, reached: rateRatio >= min },
      { target: `${what}: CPU ratio ≥ ${min}`, figure: cpuRatio, reached: cpuRatio >= min },
    )
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

function growthVerdicts({ name, title, rate, cpu }: GrowthFigures): Verdict[] {
  const max = maxGrowth[name]
  if (max === undefined) return []
  return [
    { target: `${title}: requests/s within ${max}× of few records`, figure: rate, reached: rate <= max },
    { target: `${title}: CPU per request within ${max}× of few records`, figure: cpu, reached: cpu <= max },
  ]
}

function processVerdicts({ records, rssMb, startMs }: ProcessFigures): Verdict[] {
  const start = median(startMs)
  return [
    { target: `RSS with ${records} records < ${maxRssMb} MB`, figure: rssMb, reached: rssMb < maxRssMb },
    { target: `start with ${records} records < ${maxStartMs} ms`, figure: start, reached: start < maxStartMs },
  ]
}
