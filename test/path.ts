/** A PATH on which there is a `curl`, or a fast `npx` and `npm`. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Bench, newFolder } from './processes.ts'
import { commandArguments } from './waymark.ts'

/** Returns the PATH of the machine. If it has no curl, `test/curl.ts` is the curl. */
export function pathWithCurl(t: Bench): string {
  const path = process.env.PATH ?? ''
  if (path.split(delimiter).some((folder) => existsSync(join(folder, 'curl')))) return path
  return withProgram(t, path, 'curl', `exec '${process.execPath}' '${join(import.meta.dirname, 'curl.ts')}' "$@"`)
}

/**
 * Returns `path` with an `npx waymark` and an `npm run -s waymark --` that start without npm and the launcher.
 * `src/cli/bin.test.ts` and `run.test.ts` test the real ones.
 */
export function withFastNpm(t: Bench, path: string): string {
  const command = [process.execPath, ...commandArguments].map((word) => `'${word}'`).join(' ')
  const withNpx = withProgram(t, path, 'npx', `shift; exec ${command} "$@"`)
  return withProgram(t, withNpx, 'npm', `shift 4; exec ${command} "$@"`)
}

function withProgram(t: Bench, path: string, name: string, line: string): string {
  const folder = newFolder(t)
  const script = join(folder, name)
  writeFileSync(script, `#!/bin/sh\n${line}\n`)
  chmodSync(script, 0o755)
  return folder + delimiter + path
}
