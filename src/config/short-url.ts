/**
 * How short URLs begin.
 */

import { domainMark as mark } from '../names/short-url.ts'
import type { Place } from './listeners.ts'
import type { Read } from './read.ts'

/** Reads the start of short URLs, as a template such as `https://{domain}`. Null if it is not set. */
export function readShortUrl(read: Read): string | null {
  return read('SHORT_URL', '', (text) => (text === '' ? null : template(text)))
}

/** Returns the template of the URLs that reach the redirect server without a proxy. */
export function directShortUrl(listeners: readonly Place[]): string {
  const port = listeners.find(({ name }) => name === 'redirect')?.port ?? 80
  return `http://${mark}${port === 80 ? '' : `:${port}`}`
}

function template(text: string): string {
  const isPlain = /^https?:\/\/\{domain\}(?::\d{1,5})?\/?$/i.test(text)
  const url = isPlain ? URL.parse(text.replace(mark, 'a.example')) : null
  // Without a default port, as the parser writes it.
  if (url !== null) return `${url.protocol}//${url.host.replace('a.example', mark)}`
  throw new Error(
    'must be "https://{domain}", "http://{domain}" or one of them with a port: {domain} stands for the name, and a path is not supported.',
  )
}
