import { LruCache } from '../../lib/lru-cache.ts'

/** Only the start matters: in-app browsers append details. Characters. */
const maxLength = 512
/** A megabyte of the longest user agents. */
const capacity = 2_000

/** Returns `judge` for the start of user agents, with a cache. */
export function byUserAgent<Judged>(judge: (userAgent: string) => Judged): (userAgent: string) => Judged {
  const remembered = new LruCache<string, Judged>(capacity)
  return (whole) => {
    const userAgent = whole.length > maxLength ? whole.slice(0, maxLength) : whole
    const known = remembered.get(userAgent)
    if (known !== undefined) return known
    const judged = judge(userAgent)
    // A copy, because a slice would keep the whole batch of visits in memory.
    remembered.set(Buffer.from(userAgent).toString(), judged)
    return judged
  }
}
