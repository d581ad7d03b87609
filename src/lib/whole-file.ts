import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartupFailure } from '../errors.ts'

/** Calls `write` with a temporary file, and renames that to `file` once it is on disk. Throws `StartupFailure`. */
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
    // System errors name the temporary file. All others are sentences already, or bugs.
    if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) throw error
    const folder = dirname(resolve(file))
    const why = existsSync(folder) ? message : `the folder ${folder} doesn't exist`
    throw new StartupFailure(`Can't write ${file}: ${why}.`)
  } finally {
    // For a path below a file, even a forced removal throws.
    if (existsSync(temporary)) rmSync(temporary)
  }
}

function refuseExisting(file: string, mayReplace: boolean): void {
  refuseFolder(file, 'Choose a file in it.')
  if (mayReplace || !existsSync(file)) return
  throw new StartupFailure(`The file ${file} already exists. Choose another name, or overwrite it with --force.`)
}

/** Throws `StartupFailure` if the path is a folder. `what` is the subject of the error message, `wayOut` its second sentence. */
export function refuseFolder(path: string, wayOut: string, what = 'The path'): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  throw new StartupFailure(`${what} ${path} is a folder. ${wayOut}`)
}

/** Creates an empty file that only this user may read. */
export function makeOwnFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

/** Flushes the content of a file, or the names in a folder, to disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
