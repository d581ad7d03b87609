/** The statistics of a domain or a space, as a part of its page. */
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Subject } from '../stats/store.ts'
import type { Db } from '../storage/port.ts'
import { allBreakdowns, breakdownBars, clicksOverTime, hasVisits, periodOf } from './statistics.ts'
import { topLinks } from './top-links.ts'

interface GroupAsked {
  readonly db: Db
  readonly shortUrl: ShortUrl
  readonly account: number
  readonly subject: Subject & { readonly scope: 'domain' | 'space' }
  readonly query: Fields
  /** The page's address without a query. */
  readonly path: string
}

/** With the status of the page: 422 for a period that is refused. */
export async function groupStatistics(group: GroupAsked): Promise<{ readonly part: Html; readonly status: number }> {
  const { query, subject, shortUrl } = group
  const reading = periodOf(query)
  const asked = { ...group, reading }
  const isRefused = reading.violations.length > 0
  // Once there were visits, a quiet period is worth seeing.
  const parts =
    isRefused || (await hasVisits(asked))
      ? await Promise.all([clicksOverTime(asked), topLinks(asked, shortUrl), breakdownBars(asked, allBreakdowns)])
      : [html`<p class="muted">None of its links has been followed in the last 12 months.</p>`]
  const words = subject.scope === 'domain' ? 'Clicks on this domain' : 'Clicks in this space'
  return { part: html`<section id="clicks"><h2>${words}</h2>${parts}</section>`, status: isRefused ? 422 : 200 }
}
