import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartupFailure } from '../errors.ts'

/**
 * Lets `write` make a file under a temporary name beside `file`, and gives it its name once it is whole and on the disk.
 * Throws `StartupFailure` when there is such a file and it may not be replaced, or the file cannot be written.
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
    // What the system says of a file; everything else has been said by whoever threw it.
    if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) throw error
    const folder = dirname(resolve(file))
    const why = existsSync(folder) ? message : `there is no folder ${folder}`
    throw new StartupFailure(`The file ${file} cannot be written: ${why}.`)
  } finally {
    rmSync(temporary, { force: true })
  }
}

function refuseExisting(file: string, mayReplace: boolean): void {
  if (mayReplace || !existsSync(file)) return
  throw new StartupFailure(`There is a file ${file} already. Choose another name, or replace it with --force.`)
}

/** Makes an empty file that nobody but this user may read: what Waymark keeps is not for everybody on the machine. */
export function makeOwnFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

/** Returns once the disk has what was written to a file, or, for a folder, the names that are in it. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
