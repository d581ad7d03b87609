/** The overview's notice about links that end soon or ended recently. It returns only for other links after its dismissal. */
import { positiveInteger } from '../../forms/rules.ts'
import { icon } from '../../frame/icons.ts'
import { readCookie, setCookie } from '../../http/cookies.ts'
import { type Html, html } from '../../http/html.ts'
import { endingDays, findEndingLinks, maxEndingLinks } from '../../links/link-list.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { type PageRequest, type Pages, Redirect, type Services } from '../pages.ts'
import { hiddenFields, submitButton } from '../parts/buttons.ts'
import { formatCount, quantity, timeAgo } from '../parts/format.ts'
import { shortUrlText } from '../parts/links.ts'
import { returnPath } from '../return-path.ts'

/** An account and the time of its last dismissed notice, in Unix milliseconds. */
const dismissalCookie = 'waymark_endings'
const cookieFormat = /^(\d{1,15})\.(\d{1,15})$/
/** The days after which no link of a dismissed notice would be shown anyway. */
const dismissalDays = 2 * endingDays
const path = '/app/dismiss-ending'
const maxNamed = 3

export function addEndingNoticeDismissal(pages: Pages): void {
  pages.post(path, async ({ exchange, account, fields }) => {
    // A link that ended since then must stay in the notice.
    const shownAt = Math.min(positiveInteger(String(fields.shown_at)) ?? 0, Date.now())
    const options = { isSecure: pages.isSecure(exchange), maxAge: dismissalDays * 86_400 }
    setCookie(exchange, dismissalCookie, `${account}.${shownAt}`, options)
    return new Redirect(returnPath(fields.next))
  })
}

/** Returns null without such links. */
export async function endingNotice(
  { exchange, account }: PageRequest,
  { storage, shortUrl }: Services,
): Promise<Html | null> {
  const now = Date.now()
  const [, owner, time] = cookieFormat.exec(readCookie(exchange, dismissalCookie) ?? '') ?? []
  const dismissedAt = Number(owner) === account ? Math.min(Number(time), now) : 0
  const { ending, ended } = await findEndingLinks(storage, account, { now, dismissedAt, limit: maxNamed })
  const lines = [
    { found: ending, words: ['ends', 'end', `within ${endingDays} days`], all: '/app/links?status=ending' },
    { found: ended, words: ['ended', 'ended', `in the last ${endingDays} days`], all: '/app/links?status=expired' },
  ] as const
  const shown = lines.filter(({ found }) => found.total > 0)
  if (shown.length === 0) return null
  const sentences = shown.map(({ found, words: [one, several, when], all }) => {
    const isMore = found.total >= maxEndingLinks
    const subject = `${isMore ? 'At least ' : ''}${quantity(found.total, 'link')}`
    const named = found.links.map(({ link, end }) => nameOf(link, end, shortUrl, now))
    const others = found.total - named.length
    const more =
      others > 0 ? html`, and <a href="${all}">${isMore ? 'at least ' : ''}${formatCount(others)} more</a>` : ''
    return html`<p>${subject} ${found.total === 1 ? one : several} ${when}: ${named.map((each, at) => html`${at > 0 ? ', ' : ''}${each}`)}${more}.</p>`
  })
  return html`<section class="notice warning ending" aria-label="Links that end">${icon('clock')}<div class="stack">${sentences}</div>
<form method="post" action="${path}">${hiddenFields({ shown_at: String(now), next: exchange.target })}${submitButton({ label: 'Dismiss', weight: 'link-like' })}</form></section>`
}

type NamedLink = Awaited<ReturnType<typeof findEndingLinks>>['ended']['links'][number]['link']

function nameOf({ id, domain_name, alias }: NamedLink, end: number, shortUrl: ShortUrl, now: number): Html {
  const name = shortUrlText(shortUrl(domain_name ?? '', alias))
  return html`<a href="/app/links/${id}"><bdi>${name}</bdi></a> ${timeAgo(end, now)}`
}
