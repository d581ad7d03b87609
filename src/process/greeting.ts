import type { Writable } from 'node:stream'
import type { Logger } from 'pino'
import { describeLocation } from '../storage/open.ts'
import type { StorageLocation } from '../storage/port.ts'
import { program, version } from '../version.ts'
import type { Access } from './access.ts'
import type { Listening } from './listen.ts'

export interface Listeners {
  readonly api: Listening
  readonly redirect?: Listening
  readonly ops?: Listening
}

/** What the server tells the operator when it listens. */
interface Greeting {
  readonly api: Listening
  /** Undefined if the redirect server is off. */
  readonly redirect: Listening | undefined
  /** The URL of the dashboard. */
  readonly dashboard: string
  readonly storage: StorageLocation
  readonly access: Access
}

/** Formats the text that the server prints when it listens. */
export function greeting({ api, redirect, dashboard, storage, access }: Greeting): string {
  const redirectLine = redirect === undefined ? '' : `Short links are served on ${describeUrls(redirect)}\n`
  const banner = `Waymark ${version} is listening on ${describeUrls(api)} (documentation: /docs)
${redirectLine}Data is stored in ${storage.engine === 'postgres' ? 'PostgreSQL at ' : ''}${describeLocation(storage)}
`
  const signIn = `Dashboard: ${dashboard}  (sign in with an API key, or run: ${program} login-link)\n`
  if (access === 'none') return `${banner}${signIn}No API key is active. Create one: ${createKey}\n`
  if (access === 'existing') return `${banner}${signIn}Lost your API key? Create another: ${createKey}\n`
  const link = `Open the dashboard: ${access.signInUrl}  (works once, for 30 minutes)`
  if (access.secret === null) return `${banner}\n${link}\n`
  return `${banner}
${link}

This API key is shown only once. Store it in a safe place:

  ${access.secret}

Try it:

${examples(api, redirect, access.secret)}
`
}

/** Returns the fields of the first log line, for programs. A listener is null if it is off. */
export function startupFields({ api, redirect, ops }: Listeners, storage: StorageLocation) {
  return {
    version,
    api: api.boundUrl,
    redirect: redirect?.boundUrl ?? null,
    ops: ops?.boundUrl ?? null,
    database: `${storage.engine === 'postgres' ? 'postgres://' : 'sqlite:'}${describeLocation(storage)}`,
  }
}

const createKey = `${program} keys create --name mine`

function describeUrls({ url, isPublic }: Listening): string {
  return isPublic ? `${url} and all other addresses of this machine` : url
}

/** Formats commands to paste: they store a domain and a link on it, and visit the link. */
function examples({ url }: Listening, redirect: Listening | undefined, secret: string): string {
  const curl = `  curl -H "Authorization: Bearer ${secret}" ${url}/api/v1`
  if (redirect === undefined) return `${curl}/domains\n`
  return `${curl}/domains -d name=localhost
${curl}/links -d alias=docs -d url=${url}/docs
  curl -i http://localhost:${redirect.port}/docs
`
}

/** Prints the greeting: to stderr if stdout is no terminal, so that tools find only log lines in stdout. */
export function greet(text: string, logger: Pick<Logger, 'error'>, { stdout, stderr }: Streams = process): void {
  const out = stdout.isTTY ? stdout : stderr
  out.on('error', (err) => {
    logger.error({ err }, 'the startup message could not be printed; the first API key, if any, is lost')
  })
  out.write(text)
}

interface Streams {
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable
}
