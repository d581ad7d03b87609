import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartupFailure } from '../errors.ts'

/**
 * Lets `write` fill a file under a temporary name beside `file`, and renames it once it is complete and on the disk.
 * Throws `StartupFailure` when `file` exists and may not be replaced, is a folder, or cannot be written.
 */
export async function writeWhole<T>(
  file: string,
  mayReplace: boolean,
  write: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = `${file}.partial-${process.pid}`
  refuseExisting(file, mayReplace)
  try {
    makeOwnFile(temporary)
    const result = await write(temporary)
    syncToDisk(temporary)
    refuseExisting(file, mayReplace)
    renameSync(temporary, file)
    syncToDisk(dirname(file))
    return result
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Errors of the system name the file badly; all others are sentences already, or bugs.
    if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) throw error
    const folder = dirname(resolve(file))
    const why = existsSync(folder) ? message : `there is no folder ${folder}`
    throw new StartupFailure(`The file ${file} cannot be written: ${why}.`)
  } finally {
    rmSync(temporary, { force: true })
  }
}

function refuseExisting(file: string, mayReplace: boolean): void {
  refuseFolder(file, 'Name a file in it.')
  if (mayReplace || !existsSync(file)) return
  throw new StartupFailure(`There is a file ${file} already. Choose another name, or replace it with --force.`)
}

/** Throws `StartupFailure` when there is a folder at the path; `what` begins the sentence, and `wayOut` is the next. */
export function refuseFolder(path: string, wayOut: string, what = 'The path'): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  throw new StartupFailure(`${what} ${path} is a folder. ${wayOut}`)
}

/** Makes an empty file that only this user may read. */
export function makeOwnFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

/** Returns once a file's content, or the names in a folder, are on the disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
