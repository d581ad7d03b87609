import { createHash } from 'node:crypto'
import { appendFileSync, closeSync, createReadStream, openSync, readSync, statSync, truncateSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { StartupFailure } from '../../errors.ts'
import { writeWhole } from '../../lib/whole-file.ts'
import { findTrouble } from './connection.ts'
import { refuseDatabaseFolder, removeAuxiliaryFiles } from './open.ts'

export interface BackupOptions {
  readonly mayReplace: boolean
  readonly onProgress: OnProgress
}

/** How long a backup waits for a lock of another process. Milliseconds. */
const lockTimeoutMs = 10_000
/** A few megabytes. */
const pagesBetweenProgress = 1_000

/** See `backUp` in `storage/open.ts`. */
export function backUp(path: string, file: string, { mayReplace, onProgress }: BackupOptions): Promise<void> {
  return writeWhole(file, mayReplace, (target) => writeBackup(path, target, onProgress))
}

async function writeBackup(path: string, target: string, onProgress: OnProgress): Promise<void> {
  refuseDatabaseFolder(path)
  try {
    await copy(path, target, onProgress)
    finish(target)
    await appendChecksum(target, onProgress)
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    const { message } = error as Error
    throw findTrouble(error) === 'database_corrupt'
      ? damaged(message)
      : new StartupFailure(`Can't write the backup: ${message}.`)
  } finally {
    removeAuxiliaryFiles(target)
  }
}

/**
 * Copies the current state of the database. Without the read transaction, SQLite would restart the copy after each write of
 * another process, and never finish while a server is busy.
 */
async function copy(path: string, target: string, onProgress: OnProgress): Promise<void> {
  using source = new DatabaseSync(path, { timeout: lockTimeoutMs })
  source.exec('begin; select 1 from sqlite_schema')
  await backup(source, target, {
    rate: pagesBetweenProgress,
    progress: ({ totalPages, remainingPages }) => onProgress('copied', 1 - remainingPages / totalPages),
  })
}

/** Checks the copy, and makes it readable without a WAL. */
function finish(target: string): void {
  using database = new DatabaseSync(target)
  const [{ quick_check: verdict } = {}] = database.prepare('pragma quick_check(1)').all()
  if (verdict !== 'ok') throw damaged(String(verdict))
  database.exec('pragma journal_mode = delete')
}

function damaged(why: string): StartupFailure {
  return new StartupFailure(`Can't back up a damaged database: ${why}.`)
}

/** Gets the progress of a step, from 0 to 1. */
export type OnProgress = (step: 'copied' | 'checked', share: number) => void

const label = '\nWaymark backup. SHA-256 of all bytes before this line: '
const trailerLength = label.length + 64 + 1
const chunkSize = 1 << 20

/** Appends the checksum to a copy. */
export async function appendChecksum(file: string, onProgress: OnProgress): Promise<void> {
  const digest = await computeDigest(file, statSync(file).size, onProgress)
  appendFileSync(file, `${label}${digest}\n`)
}

/** Checks the checksum of a copy, and removes it if it is right. Backups of older versions have none. */
export async function takeChecksum(file: string, onProgress: OnProgress): Promise<'right' | 'wrong' | 'missing'> {
  const { size } = statSync(file)
  const end = Math.max(0, size - trailerLength)
  const trailer = readBytes(file, end, trailerLength).toString('latin1')
  if (!trailer.startsWith(label)) return isWholePages(file, size) ? 'missing' : 'wrong'
  if (trailer !== `${label}${await computeDigest(file, end, onProgress)}\n`) return 'wrong'
  truncateSync(file, end)
  return 'right'
}

async function computeDigest(file: string, size: number, onProgress: OnProgress): Promise<string> {
  const hash = createHash('sha256')
  let done = 0
  for await (const chunk of createReadStream(file, { highWaterMark: chunkSize })) {
    const bytes = (chunk as Buffer).subarray(0, size - done)
    hash.update(bytes)
    done += bytes.length
    onProgress('checked', done / (size || 1))
  }
  return hash.digest('hex')
}

/** After a truncated or damaged checksum, the file ends with a partial page. */
function isWholePages(file: string, size: number): boolean {
  const header = readBytes(file, 0, 18)
  if (!header.toString('latin1').startsWith('SQLite format 3\0')) return true
  // 65,536 does not fit, and is stored as 1.
  const pageSize = header.readUInt16BE(16)
  return size % (pageSize === 1 ? 65_536 : pageSize) === 0
}

/** Reads bytes of a file. Bytes after its end are zero. */
export function readBytes(file: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, bytes, 0, length, position)
    return bytes
  } finally {
    closeSync(descriptor)
  }
}
