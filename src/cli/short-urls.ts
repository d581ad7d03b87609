import { readShortUrlTemplate } from '../config.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'

/** How this instance writes short URLs. Throws `StartupFailure` if that is misconfigured. */
export function ownShortUrls(): ShortUrl {
  return shortUrls(readShortUrlTemplate())
}
