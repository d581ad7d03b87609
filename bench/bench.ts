/**
 * `npm run bench`: how fast Waymark is, next to a server that does nothing. See README.md here.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Case, cases, chosenCases } from './cases.ts'
import { type Figures, figuresOf, type ProcessFigures } from './figures.ts'
import { IndexWatch } from './index-watch.ts'
import { UnexpectedAnswers } from './load.ts'
import { measure, type Result, type Site } from './measure.ts'
import { type Options, readOptions, usage, WrongUse } from './options.ts'
import { benchServer, seededDatabase } from './postgres.ts'
import { asMarkdown, asText } from './report.ts'
import { benchFolder, type Seed, seededCopy } from './seed.ts'
import { Fleet, Server, timeToFirstAnswer } from './servers.ts'

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

async function run(chosen: readonly Case[], folder: string, options: Options): Promise<Figures> {
  const { seeds, drop } = await seedsOf(folder, options)
  const startMs = new Map<number, number[]>()
  for (const seed of seeds) startMs.set(seed.records, await startTimes(seed, options.starts))
  const raw = await Server.raw()
  const sites: Site[] = []
  try {
    for (const seed of seeds) sites.push(await open(seed, options.nodes))
    const results: Result[] = []
    for (const measured of chosen) results.push(...(await measureCase(measured, sites, raw, options)))
    const processes: ProcessFigures[] = []
    for (const site of sites) processes.push(await processFigures(site, startMs.get(site.stock.records) ?? []))
    return figuresOf(results, processes, options)
  } finally {
    for (const { server, index } of sites) {
      index.close()
      await server.stop()
    }
    await raw.stop()
    await drop()
  }
}

/** The databases of the run, and how to remove those that do not end with its folder. */
async function seedsOf(
  folder: string,
  { sizes, postgres }: Options,
): Promise<{ seeds: Seed[]; drop(): Promise<void> }> {
  if (!postgres) {
    const seeds: Seed[] = []
    for (const records of sizes) seeds.push(await seededCopy(records, folder, say))
    return { seeds, drop: async () => undefined }
  }
  const server = await benchServer()
  const seeds: Awaited<ReturnType<typeof seededDatabase>>[] = []
  for (const records of sizes) seeds.push(await seededDatabase(server, records, say))
  const drop = async () => {
    for (const seed of seeds) await seed.drop()
    await server.stop()
  }
  return { seeds, drop }
}

async function open(seed: Seed, nodes: number): Promise<Site> {
  const server = await Fleet.of(seed, nodes)
  const index = watchOf(seed)
  await index.caughtUp()
  return { stock: { ...seed, spare: [] }, server, index }
}

/** PostgreSQL keeps its indexes in the transaction that writes. */
function watchOf({ location }: Seed): Pick<IndexWatch, 'caughtUp' | 'close'> {
  return location.engine === 'sqlite'
    ? new IndexWatch(location.path)
    : { caughtUp: async () => undefined, close: () => undefined }
}

async function startTimes(seed: Seed, starts: number): Promise<number[]> {
  say(`Starting with ${seed.records} records`)
  const times: number[] = []
  for (let start = 0; start < starts; start++) times.push(await timeToFirstAnswer(seed))
  return times
}

async function measureCase(measured: Case, sites: readonly Site[], raw: Server, options: Options): Promise<Result[]> {
  say(`Measuring ${measured.name}`)
  try {
    return await measure(measured, sites, raw, options)
  } catch (error) {
    if (error instanceof UnexpectedAnswers) throw new UnexpectedAnswers(`${measured.name}: ${error.message}`)
    throw error
  }
}

async function processFigures({ stock, server }: Site, startMs: readonly number[]): Promise<ProcessFigures> {
  const { rss, peakRss } = await server.usage()
  return { records: stock.records, rssMb: rss / 1e6, peakRssMb: peakRss / 1e6, startMs }
}

/** One line on stderr: on a terminal it replaces the one before, elsewhere it is left out when they come too fast. */
function say(line: string): void {
  const now = performance.now()
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else if (line !== '' && now - lastSaid > 1_000) process.stderr.write(`${line}\n`)
  else return
  lastSaid = now
}
