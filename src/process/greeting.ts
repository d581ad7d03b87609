import type { Writable } from 'node:stream'
import type { Logger } from 'pino'
import { byName } from '../config/listeners.ts'
import type { StorageLocation } from '../storage/location.ts'
import { placeOf } from '../storage/open.ts'
import { version } from '../version.ts'
import type { Access } from './access.ts'
import type { Listening } from './listen.ts'

/** Formats the text that the server prints when it listens. `redirect` is undefined if the redirect server is off. */
export function greeting(
  api: Listening,
  redirect: Listening | undefined,
  storage: StorageLocation,
  access: Access,
): string {
  const redirectLine =
    redirect === undefined ? '' : `Short links are served on ${byName(redirect.url)}, for the domains that you store\n`
  const place = `${storage.engine === 'postgres' ? 'PostgreSQL at ' : ''}${placeOf(storage)}`
  const banner = `Waymark ${version} is listening on ${api.url} (documentation: /docs)
${redirectLine}Data is stored in ${place}
`
  if (access === 'none') return `${banner}${signIn}No API key is active. Issue one: ${issue}\n`
  if (access === 'existing') return `${banner}${signIn}Lost your API key? Issue another: ${issue}\n`
  const dashboard = `Open the dashboard: ${access.signInUrl}  (works once, for 30 minutes)`
  if (access.secret === null) return `${banner}\n${dashboard}\n`
  return `${banner}
${dashboard}

This API key is shown once; keep it safe:

  ${access.secret}

Try it:

${examples(api, redirect, access.secret)}
`
}

const signIn = 'Get a link that opens the dashboard: npx waymark login-link\n'
const issue = 'npx waymark keys create --name mine'

/** Formats commands to paste: they store a domain and a link on it, and visit the link. */
function examples({ port, localUrl }: Listening, redirect: Listening | undefined, secret: string): string {
  const curl = `  curl -H "Authorization: Bearer ${secret}" ${localUrl}/api/v1`
  if (redirect === undefined) return `${curl}/domains\n`
  return `${curl}/domains -d name=localhost
${curl}/links -d alias=docs -d url=http://localhost:${port}/docs
  curl -i http://localhost:${redirect.port}/docs
`
}

/**
 * Prints the greeting. Unless standard output is a terminal, it contains only log lines, so that tools can parse them. The
 * server keeps running if the greeting can't be written.
 */
export function greet(text: string, logger: Pick<Logger, 'error'>, { stdout, stderr }: Streams = process): void {
  const out = stdout.isTTY ? stdout : stderr
  out.on('error', (err) => {
    logger.error({ err }, 'the start-up text could not be printed; the first API key, if any, is lost')
  })
  out.write(text)
}

interface Streams {
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable
}
