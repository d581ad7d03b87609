/** A PATH on which there is a `curl`. */
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
  const folder = newFolder(t)
  const script = join(folder, 'curl')
  writeFileSync(script, `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, 'curl.ts')}' "$@"\n`)
  chmodSync(script, 0o755)
  return folder + delimiter + own
}
