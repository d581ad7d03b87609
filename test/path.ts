/** A PATH with other programs, such as a `curl`. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Bench, newFolder } from './processes.ts'

/** Returns the PATH of the machine. If it has no curl, `test/curl.ts` is the curl. */
export function pathWithCurl(t: Bench): string {
  const path = process.env.PATH ?? ''
  if (path.split(delimiter).some((folder) => existsSync(join(folder, 'curl')))) return path
  return withProgram(t, path, 'curl', `exec '${process.execPath}' '${join(import.meta.dirname, 'curl.ts')}' "$@"`)
}

/** Returns `path` with another program, which is a line for the shell. */
export function withProgram(t: Bench, path: string, name: string, line: string): string {
  const folder = newFolder(t)
  const script = join(folder, name)
  writeFileSync(script, `#!/bin/sh\n${line}\n`)
  chmodSync(script, 0o755)
  return folder + delimiter + path
}
