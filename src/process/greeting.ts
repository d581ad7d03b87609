import type { Writable } from 'node:stream'
import { version } from '../version.ts'
import type { Access } from './access.ts'
import type { Listening } from './listen.ts'

/** Formats the text that the server prints when it listens. `redirect` is undefined if the redirect server is off. */
export function greeting(api: Listening, redirect: Listening | undefined, access: Access): string {
  const redirectLine =
    redirect === undefined ? '' : `Short links are served on ${byName(redirect.url)}, for the domains that you store\n`
  const banner = `Waymark ${version} is listening on ${api.url} (documentation: /docs)\n${redirectLine}`
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

/** Returns the URL of the dashboard for a browser on this machine. */
export function dashboardUrl({ localUrl }: Listening): string {
  return byName(localUrl)
}

/** Replaces loopback addresses by `localhost`, because IP addresses can't be domains of short links. */
function byName(url: string): string {
  return url.replace('//127.0.0.1', '//localhost').replace('//[::1]', '//localhost')
}

/** Prints the greeting. The server keeps running if standard output can't be written. */
export function greet(text: string, out: Writable = process.stdout, err: Writable = process.stderr): void {
  out.on('error', ({ message }) => {
    err.write(`Standard output cannot be written: ${message}. The first API key, if any, is lost.\n`)
  })
  out.write(text)
}
