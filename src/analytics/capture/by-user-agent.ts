import { LruCache } from '../../lib/lru-cache.ts'

/** What matters stands at the beginning: in-app browsers append what they have. Characters. */
const maxLength = 512
/** With user agents of that length, a megabyte. */
const capacity = 2_000

/** `judge` for the beginning of each user agent. Remembers what it answers for the newest 2 000. */
export function byUserAgent<Judged>(judge: (userAgent: string) => Judged): (userAgent: string) => Judged {
  const remembered = new LruCache<string, Judged>({ maxEntries: capacity })
  return (whole) => {
    const userAgent = whole.length > maxLength ? whole.slice(0, maxLength) : whole
    const known = remembered.get(userAgent)
    if (known !== undefined) return known
    const judged = judge(userAgent)
    // A text of its own: one that was cut out of a longer one, such as a batch of visits, keeps all of that in memory.
    remembered.set(Buffer.from(userAgent).toString(), judged)
    return judged
  }
}
