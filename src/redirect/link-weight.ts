import type { LinkRow } from './statements.ts'

/**
 * What a link takes in memory, about, in bytes, with what the listener makes ready: a header and a page that repeat the
 * URL, in which each byte that is not ASCII takes three.
 */
export function weightOf({ alias, url, title, expiration_url }: Texts): number {
  const bytes = Buffer.byteLength(url)
  const written = bytes === url.length ? bytes : 3 * bytes
  return 600 + 2 * (alias.length + url.length + (title?.length ?? 0) + (expiration_url?.length ?? 0)) + 4 * written
}

type Texts = Pick<LinkRow, 'alias' | 'url' | 'title' | 'expiration_url'>
