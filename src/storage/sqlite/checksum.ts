/**
 * A backup ends in a line with the SHA-256 of everything before it, because SQLite cannot detect a changed byte in a text.
 * SQLite ignores the line (https://sqlite.org/fileformat2.html#in_header_database_size).
 */
import { createHash } from 'node:crypto'
import { appendFileSync, closeSync, createReadStream, openSync, readSync, statSync, truncateSync } from 'node:fs'

/** Gets the progress of a step, from 0 to 1. */
export type OnProgress = (step: 'copied' | 'checked', share: number) => void

const label = '\nWaymark backup. SHA-256 of all bytes before this line: '
const trailerLength = label.length + 64 + 1
const chunkSize = 1 << 20

/** Appends the checksum to a copy. */
export async function appendChecksum(file: string, onProgress: OnProgress): Promise<void> {
  const digest = await digestOf(file, statSync(file).size, onProgress)
  appendFileSync(file, `${label}${digest}\n`)
}

/** Checks the checksum of a copy, and removes it if it is right. Backups of older versions have none. */
export async function takeChecksum(file: string, onProgress: OnProgress): Promise<'right' | 'wrong' | 'missing'> {
  const { size } = statSync(file)
  const end = Math.max(0, size - trailerLength)
  const trailer = bytesOf(file, end, trailerLength).toString('latin1')
  if (!trailer.startsWith(label)) return isWholePages(file, size) ? 'missing' : 'wrong'
  if (trailer !== `${label}${await digestOf(file, end, onProgress)}\n`) return 'wrong'
  truncateSync(file, end)
  return 'right'
}

async function digestOf(file: string, size: number, onProgress: OnProgress): Promise<string> {
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
  const header = bytesOf(file, 0, 18)
  if (!header.toString('latin1').startsWith('SQLite format 3\0')) return true
  // 65,536 does not fit, and is stored as 1.
  const pageSize = header.readUInt16BE(16)
  return size % (pageSize === 1 ? 65_536 : pageSize) === 0
}

/** Bytes after the end of the file are zero. */
function bytesOf(file: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, bytes, 0, length, position)
    return bytes
  } finally {
    closeSync(descriptor)
  }
}
