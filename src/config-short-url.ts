/**
 * How short URLs begin.
 */
import type { Place } from './config-listeners.ts'
import type { Read } from './config-reading.ts'
import { domainMark as mark } from './names/short-url.ts'

/**
 * Reads how short URLs begin, as a template such as `https://{domain}`. Unset, it is what reaches the visitors' listener
 * without a proxy.
 */
export function readShortUrl(read: Read, listeners: readonly Place[]): string {
  return read('SHORT_URL', '', (text) => (text === '' ? directUrl(listeners) : template(text)))
}

function directUrl(listeners: readonly Place[]): string {
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
