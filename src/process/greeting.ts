import type { Writable } from 'node:stream'
import { version } from '../version.ts'
import type { Listening } from './listen.ts'

/**
 * What a start tells the operator about keys: the first one, which is shown this once; `kept`, when keys that were
 * issued before are good; `none`, when no key is good.
 */
export type KeyNews = { readonly secret: string } | 'kept' | 'none'

/** What the server prints once it listens. */
export function greeting({ url, localUrl }: Listening, key: KeyNews): string {
  const banner = `Waymark ${version} is listening on ${url} (documentation: /docs)\n`
  if (key === 'none') return `${banner}No API key is good. Issue one: ${issue}\n`
  if (key === 'kept') return `${banner}Lost your API key? Issue another: ${issue}\n`
  return `${banner}
This API key is shown once; keep it safe:

  ${key.secret}

Try it:

  curl -H "Authorization: Bearer ${key.secret}" ${localUrl}/api/v1/domains

`
}

const issue = 'npx waymark keys create --name mine'

/** Prints the greeting. A standard output that cannot be written is no reason not to serve. */
export function greet(text: string, out: Writable = process.stdout, err: Writable = process.stderr): void {
  out.on('error', ({ message }) => {
    err.write(`Standard output cannot be written: ${message}. The first API key, if one was made, is lost.\n`)
  })
  out.write(text)
}
