import { domainMark, type ShortUrl, shortUrls } from '../names/short-url.ts'

/** How this instance writes short URLs. */
export function ownShortUrls(): ShortUrl {
  return shortUrls(`http://${domainMark}:3080`)
}
