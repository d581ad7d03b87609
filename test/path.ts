/** A PATH on which there is a `curl`, or a fast `npx`. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Bench, newFolder } from './processes.ts'

const own = process.env.PATH ?? ''

/** Whether the machine has a curl of its own. */
export const hasCurl = own.split(delimiter).some((folder) => existsSync(join(folder, 'curl')))

/** The machine's own PATH, when it has curl. */
export function pathWithCurl(t: Bench): string {
  return hasCurl ? own : pathWithStandIn(t)
}

/** A PATH whose curl is that of `test/curl.ts`. */
export function pathWithStandIn(t: Bench): string {
  return withProgram(t, own, 'curl', `exec '${process.execPath}' '${join(import.meta.dirname, 'curl.ts')}' "$@"`)
}

/** `path` with an `npx waymark` that npm does not start, which takes it seconds. `src/cli/bin.test.ts` runs npm's own. */
export function withFastNpx(t: Bench, path: string): string {
  return withProgram(t, path, 'npx', `shift; exec '${process.execPath}' bin/waymark.js "$@"`)
}

function withProgram(t: Bench, path: string, name: string, line: string): string {
  const folder = newFolder(t)
  const script = join(folder, name)
  writeFileSync(script, `#!/bin/sh\n${line}\n`)
  chmodSync(script, 0o755)
  return folder + delimiter + path
}
