/**
 * `npm run bench`: the speed of Waymark relative to a bare HTTP server. See README.md in this folder.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from './case.ts'
import { cases, chosenCases, groupsOf } from './cases.ts'
import { ClickWatch } from './click-watch.ts'
import { type Figures, figuresOf, type ProcessFigures } from './figures.ts'
import { IndexWatch } from './index-watch.ts'
import { UnexpectedAnswers } from './load.ts'
import { measure, type Result, type Site } from './measure.ts'
import { type Options, readOptions, usage, WrongUse } from './options.ts'
import { type BenchServer, benchServer, seededDatabase } from './postgres.ts'
import { asMarkdown, asText } from './report.ts'
import { benchFolder, type Seed, type SeedKind, seededCopy } from './seed.ts'
import { Fleet, rawTimeToFirstAnswer, Server, timeToFirstAnswer } from './servers.ts'

let lastSaid = Number.NEGATIVE_INFINITY

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args)
    if (options === null) process.stdout.write(usage)
    return options === null ? 0 : await bench(options)
  } catch (error) {
    if (!(error instanceof WrongUse || error instanceof UnexpectedAnswers)) throw error
    process.stderr.write(`\n${error.message}\n${error instanceof WrongUse ? usage : ''}`)
    return error instanceof WrongUse ? 2 : 1
  }
}

async function bench(options: Options): Promise<number> {
  const chosen = chosenCases(options.only, options.quick)
  if (chosen === null) throw new WrongUse(`--only takes names out of ${cases.map(({ name }) => name).join(', ')}.`)
  mkdirSync(benchFolder, { recursive: true })
  const folder = mkdtempSync(join(benchFolder, 'run-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  const figures = await run(chosen, folder, options)
  say('')
  process.stdout.write(printed(figures, options))
  return options.gate && figures.verdicts.some(({ reached }) => !reached) ? 1 : 0
}

function printed(figures: Figures, { json, markdown }: Options): string {
  if (json) return `${JSON.stringify(figures, null, 2)}\n`
  return markdown ? asMarkdown(figures, new Date()) : asText(figures)
}

/** Measures one kind of database after the other, so that only the servers of one kind run. */
async function run(chosen: readonly Case[], folder: string, options: Options): Promise<Figures> {
  const postgres = options.postgres ? await benchServer() : null
  const raw = await Server.raw()
  const results: Result[] = []
  const processes: ProcessFigures[] = []
  try {
    for (const [kind, ofKind] of Map.groupBy(chosen, ({ seed }) => seed)) {
      const { seeds, drop } = await seedsOf(kind, folder, options.sizes, postgres)
      try {
        const starts = new Map<Seed, Starts>()
        for (const seed of seeds) starts.set(seed, await startTimes(seed, options.starts))
        await withSites(seeds, options.nodes, async (sites) => {
          for (const group of groupsOf(ofKind)) results.push(...(await measureGroup(group, sites, raw, options)))
          for (const [at, site] of sites.entries()) {
            processes.push(await processFigures(site, starts.get(seeds[at] as Seed) as Starts))
          }
        })
      } finally {
        await drop()
      }
    }
    return figuresOf(results, processes, options)
  } finally {
    await raw.stop()
    await postgres?.stop()
  }
}

/** Creates the databases of a kind. `drop` removes databases on PostgreSQL. */
async function seedsOf(
  kind: SeedKind,
  folder: string,
  sizes: readonly number[],
  server: BenchServer | null,
): Promise<{ seeds: Seed[]; drop(): Promise<void> }> {
  if (server === null) {
    const seeds: Seed[] = []
    for (const records of sizes) seeds.push(await seededCopy(kind, records, folder, say))
    return { seeds, drop: async () => undefined }
  }
  const seeds: Awaited<ReturnType<typeof seededDatabase>>[] = []
  for (const records of sizes) seeds.push(await seededDatabase(server, kind, records, say))
  return {
    seeds,
    drop: async () => {
      for (const seed of seeds) await seed.drop()
    },
  }
}

async function withSites(
  seeds: readonly Seed[],
  nodes: number,
  work: (sites: readonly Site[]) => Promise<void>,
): Promise<void> {
  const sites: Site[] = []
  try {
    for (const seed of seeds) sites.push(await open(seed, nodes))
    await work(sites)
  } finally {
    for (const { server, index, clicks } of sites) {
      index.close()
      await clicks.close()
      await server.stop()
    }
  }
}

async function open(seed: Seed, nodes: number): Promise<Site> {
  const server = await Fleet.of(seed, nodes)
  const index = watchOf(seed)
  const clicks = await ClickWatch.of(seed.location)
  await index.caughtUp()
  return { stock: { ...seed, spare: [] }, server, index, clicks }
}

/** PostgreSQL keeps its indexes in the transaction that writes. */
function watchOf({ location }: Seed): Pick<IndexWatch, 'caughtUp' | 'close'> {
  return location.engine === 'sqlite'
    ? new IndexWatch(location.path)
    : { caughtUp: async () => undefined, close: () => undefined }
}

type Starts = Pick<ProcessFigures, 'startMs' | 'rawStartMs'>

async function startTimes(seed: Seed, starts: number): Promise<Starts> {
  say(`Starting with ${seed.records} ${seed.kind}`)
  const times = { startMs: [] as number[], rawStartMs: [] as number[] }
  for (let start = 0; start < starts; start++) {
    times.startMs.push(await timeToFirstAnswer(seed))
    times.rawStartMs.push(await rawTimeToFirstAnswer())
  }
  return times
}

async function measureGroup(
  group: readonly Case[],
  sites: readonly Site[],
  raw: Server,
  options: Options,
): Promise<Result[]> {
  const names = group.map(({ name }) => name).join(' and ')
  say(`Measuring ${names}`)
  try {
    return await measure(group, sites, raw, options)
  } catch (error) {
    if (error instanceof UnexpectedAnswers) throw new UnexpectedAnswers(`${names}: ${error.message}`)
    throw error
  }
}

async function processFigures({ stock, server }: Site, starts: Starts): Promise<ProcessFigures> {
  const { rss, peakRss } = await server.usage()
  return { kind: stock.kind, records: stock.records, rssMb: rss / 1e6, peakRssMb: peakRss / 1e6, ...starts }
}

/** Prints a line of progress on stderr. It replaces the previous line on a terminal; otherwise some lines are skipped. */
function say(line: string): void {
  const now = performance.now()
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else if (line !== '' && now - lastSaid > 1_000) process.stderr.write(`${line}\n`)
  else return
  lastSaid = now
}
