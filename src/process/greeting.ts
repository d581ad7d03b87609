import type { Writable } from 'node:stream'
import { version } from '../version.ts'
import type { Listening } from './listen.ts'

/**
 * What a start tells the operator about the ways in: the first key, unless it is the operator's own, and the first address that
 * signs in, which are shown this once; `kept`, when keys that were issued before are good; `none`, when no key is good.
 */
export type AccessNews = { readonly secret: string | null; readonly signInUrl: string } | 'kept' | 'none'

/** Where the API and the visitors' listener can be reached; the latter undefined if it is turned off. */
export interface Addresses {
  readonly api: Listening
  readonly redirect: Listening | undefined
}

/** What the server prints once it listens. */
export function greeting({ api, redirect }: Addresses, news: AccessNews): string {
  const ofVisitors =
    redirect === undefined
      ? ''
      : `Short links are answered on ${byName(redirect.url)}, for the domains that you store\n`
  const banner = `Waymark ${version} is listening on ${api.url} (documentation: /docs)\n${ofVisitors}`
  if (news === 'none') return `${banner}${signIn}No API key is good. Issue one: ${issue}\n`
  if (news === 'kept') return `${banner}${signIn}Lost your API key? Issue another: ${issue}\n`
  const dashboard = `Open the dashboard: ${news.signInUrl}  (works once, for 30 minutes)`
  if (news.secret === null) return `${banner}\n${dashboard}\n`
  return `${banner}
${dashboard}

This API key is shown once; keep it safe:

  ${news.secret}

Try it:

${trial(api, redirect, news.secret)}
`
}

/** The address of the dashboard for a browser on this machine. */
export function dashboardUrl({ localUrl }: Listening): string {
  return byName(localUrl)
}

/** By an IP address, no short link is ever asked for: that is not the name of a domain. */
function byName(url: string): string {
  return url.replace('//127.0.0.1', '//localhost').replace('//[::1]', '//localhost')
}

/** Commands that work when they are pasted: a domain, a link on it, and a visit. */
function trial({ port, localUrl }: Listening, redirect: Listening | undefined, secret: string): string {
  const curl = `  curl -H "Authorization: Bearer ${secret}" ${localUrl}/api/v1`
  if (redirect === undefined) return `${curl}/domains\n`
  return `${curl}/domains -d name=localhost
${curl}/links -d alias=docs -d url=http://localhost:${port}/docs
  curl -i http://localhost:${redirect.port}/docs
`
}

const signIn = 'Get an address that opens the dashboard: npx waymark login-link\n'
const issue = 'npx waymark keys create --name mine'

/** Prints the greeting. A standard output that cannot be written is no reason not to serve. */
export function greet(text: string, out: Writable = process.stdout, err: Writable = process.stderr): void {
  out.on('error', ({ message }) => {
    err.write(`Standard output cannot be written: ${message}. The first API key, if one was made, is lost.\n`)
  })
  out.write(text)
}
