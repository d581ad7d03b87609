import { randomUUID } from 'node:crypto'
import {
  accessSync,
  appendFileSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { syncToDisk } from '../../lib/whole-file.ts'
import { type FileLock, lockFile } from '../../storage/file-lock.ts'
import type { ClickRow } from './row.ts'
import { SpoolUnusable } from './sink.ts'

/** A batch in the spool: a file whose name tells the order, the number of rows and the id. */
export interface SpooledBatch {
  readonly name: string
  readonly id: string
  readonly rows: number
  readonly bytes: number
  /** Unix milliseconds. */
  readonly sealedAt: number
}

/** The batch that is being filled; with a suffix, one that the owner of another folder left. */
const openFile = 'open'
/** Contains the Unix milliseconds of the first and the latest time that the sink accepted a batch without confirming it. */
const unconfirmedFile = 'unconfirmed'
/** After a longer pause, such as an outage or a stop, the next time is the first again. */
const maxUnconfirmedPauseMs = 3_600_000
const sealedName = /^(\d{15})-(\d+)-([\da-f-]{36})\.jsonl$/

/**
 * Takes a folder in `root` that no other process has: `0`, `1` and so on, each with a lock beside it. Throws
 * `SpoolUnusable` if `root` cannot be used.
 */
export function openSpoolFolder(root: string): SpoolFolder {
  try {
    createWritable(root)
    for (let number = 0; ; number++) {
      const lock = lockFile(lockOf(root, number))
      if (lock !== null) return openLocked(root, number, lock)
    }
  } catch (error) {
    const why = (error as Error).message
    throw new SpoolUnusable(
      `Clicks cannot be spooled in ${root}: ${why}. Make the folder writable, or name another one in CLICKS_SPOOL.`,
      { cause: error },
    )
  }
}

/** Creates the folder unless it exists. Throws the reason if it cannot be created or written. */
function createWritable(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    // In a read-only file system, the error of a recursive mkdir is a misleading ENOENT.
    let existing = path
    while (!existsSync(existing)) existing = dirname(existing)
    accessSync(existing, constants.W_OK)
    throw error
  }
  // SQLite, which locks files in the folder, hides the reason if it cannot create them.
  accessSync(path, constants.W_OK | constants.X_OK)
}

/** Releases the lock if the folder cannot be used, so that the next attempt takes the same folder. */
function openLocked(root: string, number: number, lock: FileLock): SpoolFolder {
  try {
    return new SpoolFolder(root, number, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

const lockOf = (root: string, number: number) => join(root, `${number}.lock`)

/**
 * The files of one process's spool. A batch is filled in a file of its own and gets its id when it is sealed, by a rename.
 * What was appended survives a kill of the process, what was sealed a power cut as well.
 */
export class SpoolFolder {
  /** Which of the folders in `root` this is. */
  readonly number: number
  /**
   * The batches that waited when the folder was opened, the oldest first: those that its last owner left, and those in
   * folders that no process owns any more, which were moved here.
   */
  readonly left: readonly SpooledBatch[]
  readonly #path: string
  readonly #lock: FileLock
  /** The order of the newest batch, which begins its name. */
  #newest = 0

  constructor(root: string, number: number, lock: FileLock) {
    this.number = number
    this.#path = join(root, String(number))
    this.#lock = lock
    mkdirSync(this.#path, { recursive: true, mode: 0o700 })
    const isOther = (name: string) => /^\d+$/.test(name) && Number(name) !== number
    for (const other of readdirSync(root).filter(isOther)) this.#adopt(root, Number(other))
    this.#newest = Number(sealedName.exec(this.#sealedNames().at(-1) ?? '')?.[1] ?? 0)
    for (const file of readdirSync(this.#path).filter((name) => name.startsWith(openFile))) this.#sealLeftOpen(file)
    this.left = this.#sealedNames().map((name) => this.#described(name))
  }

  /** Appends rows to the open batch; returns their bytes. Throws when the disk does not take them. */
  append(rows: readonly ClickRow[]): number {
    // A line begins with its newline: what an earlier append could not complete is a line of its own.
    const lines = rows.map((row) => `\n${JSON.stringify(row)}`).join('')
    mkdirSync(this.#path, { recursive: true, mode: 0o700 })
    appendFileSync(join(this.#path, openFile), lines, { mode: 0o600 })
    return Buffer.byteLength(lines)
  }

  /** Ends the open batch of `rows` rows: it can be sent now. */
  seal(rows: number): SpooledBatch {
    return this.#seal(join(this.#path, openFile), rows)
  }

  /** The rows of a batch, without those that are damaged; none if the file is gone. */
  read({ name }: SpooledBatch): ClickRow[] {
    const path = join(this.#path, name)
    return existsSync(path) ? rowsIn(path) : []
  }

  remove({ name }: SpooledBatch): void {
    rmSync(join(this.#path, name), { force: true })
  }

  /**
   * Records that the sink accepted a batch without confirming it. Returns the Unix milliseconds of the first time since
   * `confirmed` and since the last pause of more than an hour, across restarts.
   */
  unconfirmed(): number {
    const now = Date.now()
    const [first, latest] = unconfirmedIn(this.#path)
    const since = now - latest <= maxUnconfirmedPauseMs ? first : now
    writeFileSync(join(this.#path, unconfirmedFile), `${since} ${now}`, { mode: 0o600 })
    return since
  }

  /** Records that the sink confirmed a batch. */
  confirmed(): void {
    rmSync(join(this.#path, unconfirmedFile), { force: true })
  }

  /** Lets another process have the folder, and what waits in it. */
  close(): void {
    this.#lock.release()
  }

  /** Moves what waits in another folder here, unless a process owns it. */
  #adopt(root: string, other: number): void {
    const lock = lockFile(lockOf(root, other))
    if (lock === null) return
    const from = join(root, String(other))
    try {
      for (const name of readdirSync(from)) {
        // The later start keeps batches for longer.
        if (name === unconfirmedFile && unconfirmedIn(from)[0] < unconfirmedIn(this.#path)[0]) rmSync(join(from, name))
        else renameSync(join(from, name), join(this.#path, name === openFile ? `${openFile}-${randomUUID()}` : name))
      }
    } finally {
      lock.release()
    }
  }

  #sealLeftOpen(name: string): void {
    const path = join(this.#path, name)
    const rows = rowsIn(path).length
    if (rows > 0) this.#seal(path, rows)
    else rmSync(path)
  }

  #seal(path: string, rows: number): SpooledBatch {
    // The clock may be set back, and two batches may end in the same millisecond.
    const order = Math.max(Date.now(), this.#newest + 1)
    const name = `${String(order).padStart(15, '0')}-${rows}-${randomUUID()}.jsonl`
    syncToDisk(path)
    renameSync(path, join(this.#path, name))
    this.#newest = order
    syncToDisk(this.#path)
    return this.#described(name)
  }

  #sealedNames(): string[] {
    return readdirSync(this.#path)
      .filter((name) => sealedName.test(name))
      .sort()
  }

  #described(name: string): SpooledBatch {
    const [, order, rows, id = ''] = sealedName.exec(name) ?? []
    return { name, id, rows: Number(rows), bytes: statSync(join(this.#path, name)).size, sealedAt: Number(order) }
  }
}

/** Reads `unconfirmedFile` in the folder. Returns zeros if it is missing or damaged. */
function unconfirmedIn(folder: string): readonly [first: number, latest: number] {
  const path = join(folder, unconfirmedFile)
  const [, first, latest] = /^(\d+) (\d+)$/.exec(existsSync(path) ? readFileSync(path, 'utf8') : '') ?? []
  return [Number(first ?? 0), Number(latest ?? 0)]
}

/** The lines that are whole. */
function rowsIn(path: string): ClickRow[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as ClickRow]
      } catch {
        return []
      }
    })
}
