import { readShortUrlTemplate } from '../config/config.ts'
import { findAddresses } from '../instance/store.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'

/** Returns how this instance writes short URLs. Throws `StartupFailure` if that is misconfigured. */
export async function ownShortUrls(db: Db): Promise<ShortUrl> {
  const { short_url } = await findAddresses(db)
  return shortUrls(readShortUrlTemplate(short_url))
}
