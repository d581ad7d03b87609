import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname, join, parse } from 'node:path'
import { formatBatch, type Sink, SinkFailure } from './sink.ts'

/**
 * Appends each batch to a file as JSON Lines, and syncs it to the disk. A repeated batch at the end of the file is
 * completed if it was cut off. Elsewhere in the file, its lines are written again. The file may be renamed at any time:
 * the next batch starts a new file. Only one process may write to a file.
 */
export function jsonlFileSink(path: string): Sink {
  return {
    send: async (batch) => {
      try {
        await append(path, Buffer.from(formatBatch(batch)))
      } catch (error) {
        throw new SinkFailure(`The file ${path} takes no clicks: ${(error as Error).message}.`, { cause: error })
      }
    },
  }
}

/** Returns the file of a process: `path` for the first, and `path` with a number before its extension for the others. */
export function fileOfProcess(path: string, number: number): string {
  const { dir, name, ext } = parse(path)
  return number === 0 ? path : join(dir, `${name}.${number}${ext}`)
}

async function append(path: string, lines: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+', 0o600)
  try {
    await file.appendFile(await missingFrom(file, lines))
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Returns the rest of `lines` if the file ends with their start, otherwise all lines, after a newline if needed. */
async function missingFrom(file: FileHandle, lines: Buffer): Promise<Buffer> {
  const { size } = await file.stat()
  const end = Buffer.alloc(Math.min(size, lines.length))
  await file.read(end, 0, end.length, size - end.length)
  for (let at = 0; ; ) {
    const there = end.length - at
    if (lines.subarray(0, there).equals(end.subarray(at))) return lines.subarray(there)
    const newline = end.indexOf('\n', at)
    if (newline === -1) return Buffer.concat([Buffer.from('\n'), lines])
    at = newline + 1
  }
}
