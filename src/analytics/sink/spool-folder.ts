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
import { type FileLock, lockFile } from '../../storage/sqlite/connection.ts'
import { type ClickRow, SpoolUnusable } from './sink.ts'

/** A batch in the spool: a file. Its name consists of its order, its number of rows and its id. */
export interface SpooledBatch {
  readonly name: string
  readonly id: string
  readonly rows: number
  readonly bytes: number
  /** Unix milliseconds. */
  readonly sealedAt: number
}

/** The batch that gets new rows. With a suffix, it is from the former owner of another folder. */
const openFile = 'open'
/** Contains the Unix milliseconds of the first and the latest unconfirmed batch. */
const unconfirmedFile = 'unconfirmed'
/** After a longer pause, the next unconfirmed batch is the first again. */
const maxUnconfirmedPauseMs = 3_600_000
const sealedName = /^(\d{15})-(\d+)-([\da-f-]{36})\.jsonl$/

/** Locks a folder in `root` without an owner: `0`, `1` and so on. Throws `SpoolUnusable` if `root` cannot be used. */
export function openSpoolFolder(root: string): SpoolFolder {
  try {
    createWritable(root)
    for (let number = 0; ; number++) {
      const lock = lockFile(lockPath(root, number))
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

const lockPath = (root: string, number: number) => join(root, `${number}.lock`)

/**
 * The files of one process's spool. New rows are appended to an open batch, which gets its id when it is sealed by a
 * rename. Appended rows survive SIGKILL, and sealed batches also survive a power cut.
 */
export class SpoolFolder {
  /** The name of the folder in `root`. */
  readonly number: number
  /** The batches of the folder's last owner and of other folders without an owner, the oldest first. */
  readonly left: readonly SpooledBatch[]
  readonly #path: string
  readonly #lock: FileLock
  /** The order of the newest batch. */
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
    this.left = this.#sealedNames().map((name) => this.#readBatch(name))
  }

  /** Appends rows to the open batch. Returns their bytes. Throws the error of the disk. */
  append(rows: readonly ClickRow[]): number {
    // The newline comes first, to separate the row from an earlier append that failed.
    const lines = rows.map((row) => `\n${JSON.stringify(row)}`).join('')
    mkdirSync(this.#path, { recursive: true, mode: 0o700 })
    appendFileSync(join(this.#path, openFile), lines, { mode: 0o600 })
    return Buffer.byteLength(lines)
  }

  /** Seals the open batch, which has this number of rows. */
  seal(rows: number): SpooledBatch {
    return this.#seal(join(this.#path, openFile), rows)
  }

  /** Returns a batch's intact rows; none if its file is gone. */
  read({ name }: SpooledBatch): ClickRow[] {
    const path = join(this.#path, name)
    return existsSync(path) ? rowsIn(path) : []
  }

  remove({ name }: SpooledBatch): void {
    rmSync(join(this.#path, name), { force: true })
  }

  /**
   * Records that the sink accepted a batch without confirming it. Returns the Unix milliseconds of the first such batch
   * since the last `confirmed` or pause of more than an hour, even across restarts.
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

  /** Releases the folder and its batches to other processes. */
  close(): void {
    this.#lock.release()
  }

  /** Moves the batches of another folder here, unless a process owns that folder. */
  #adopt(root: string, other: number): void {
    const lock = lockFile(lockPath(root, other))
    if (lock === null) return
    const from = join(root, String(other))
    try {
      for (const name of readdirSync(from)) {
        // The later start retains batches longer.
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
    // The clock may go back, and two batches may be sealed in the same millisecond.
    const order = Math.max(Date.now(), this.#newest + 1)
    const name = `${String(order).padStart(15, '0')}-${rows}-${randomUUID()}.jsonl`
    syncToDisk(path)
    renameSync(path, join(this.#path, name))
    this.#newest = order
    syncToDisk(this.#path)
    return this.#readBatch(name)
  }

  #sealedNames(): string[] {
    return readdirSync(this.#path)
      .filter((name) => sealedName.test(name))
      .sort()
  }

  #readBatch(name: string): SpooledBatch {
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

/** Returns a file's intact rows. */
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
