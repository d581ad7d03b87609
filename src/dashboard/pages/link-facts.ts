/** The settings and dates of a link, and the sentence that says where its visitors go instead of the destination. */

import type { Domain } from '../../domains/schema.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { redirectStatuses } from '../../links/link.ts'
import { type Link, linkLabels } from '../../links/schema.ts'
import { isLinkable } from '../../names/web-url.ts'
import type { Space } from '../../spaces/schema.ts'
import type { Tag } from '../../tags/schema.ts'
import { attributes } from '../parts/buttons.ts'
import { renderValue } from '../parts/changes.ts'
import { dayElement, exactTimeElement, timeAgo } from '../parts/format.ts'
import { breakableUrl, destination, spaceLabel, tagList, truncateMiddle } from '../parts/links.ts'
import { ruleList } from '../parts/rules.ts'
import type { WarningNotes } from '../parts/warnings.ts'

/** What a link page shows about other records. */
export interface LinkContext {
  readonly space: Space | undefined
  readonly domain: Pick<Domain, 'not_found_url'>
  readonly tags: readonly Tag[]
  /** Who created the link and changed it last; null if unknown. */
  readonly createdBy: Html | null
  readonly updatedBy: Html | null
  /** The zone of times. */
  readonly timeZone: string
  readonly notes: WarningNotes
}

const shownUrl = 160
const shownShortly = 60

const redirects: Readonly<Record<(typeof redirectStatuses)[number], string>> = {
  301: '301: permanent',
  302: '302: temporary',
  307: '307: temporary, keeps the method',
  308: '308: permanent, keeps the method',
}

type Fact = readonly [label: string, fact: Part]

/** Renders the facts that are not null. */
export function factList(id: string | null, facts: readonly Fact[]): Html {
  const shown = facts.filter(([, fact]) => fact !== null)
  return html`<dl${attributes({ id, class: 'facts' })}>${shown.map(([label, fact]) => html`<dt>${label}</dt><dd>${fact}</dd>`)}</dl>`
}

/** Renders the facts of a link. Settings that have their default are collapsed. */
export function linkFacts(link: Link, context: LinkContext): Html {
  const { url, active_period_start_at: start, active_period_end_at: end, forward_query, redirect_status } = link
  const { space, tags, notes } = context
  const now = Date.now()
  const settings: readonly (readonly [isDefault: boolean, ...Fact])[] = [
    [redirect_status === 302, linkLabels.redirect_status, redirects[redirect_status]],
    [!forward_query, 'Query string', forward_query ? 'Passed on to the destination' : 'Not passed on'],
  ]
  const settingsThat = (areDefault: boolean) =>
    settings.flatMap(([isDefault, ...fact]) => (isDefault === areDefault ? [fact] : []))
  const defaults = settingsThat(true)
  const isChanged = link.updated_at !== link.created_at
  const updated = isChanged ? html`${timeAgo(link.updated_at, now)}${by(context.updatedBy)}` : null
  const facts = factList('facts', [
    [
      linkLabels.url,
      html`${externalLink(url, html`<bdi>${breakableUrl(truncateMiddle(url, shownUrl))}</bdi>`)}${notes('url')}`,
    ],
    [
      linkLabels.rules,
      link.rules.length === 0 ? null : html`${ruleList(link.rules, context.timeZone, shortLink)}${notes('rules')}`,
    ],
    ['After it expires', afterExpiry(link, context)],
    ...settingsThat(false),
    [linkLabels.space_id, space ? html`<a href="/app/links?space_id=${space.id}">${spaceLabel(space)}</a>` : null],
    [linkLabels.tags, tags.length === 0 ? null : html`${tagList(tags)}${notes('tags')}`],
    ...plainFacts(link, context),
    [linkLabels.archived, link.archived ? 'Yes. It keeps working, but lists omit it.' : null],
    [
      start !== null && Date.parse(start) > now ? linkLabels.active_period_start_at : 'Started working on',
      start && exactTimeElement(start, context.timeZone),
    ],
    [
      end !== null && Date.parse(end) < now ? 'Stopped working on' : linkLabels.active_period_end_at,
      end && exactTimeElement(end, context.timeZone),
    ],
    [linkLabels.clicks_limit, limitUse(link)],
    [linkLabels.redirect_password, link.has_redirect_password ? 'Required' : null],
    ['Created', html`${timeAgo(link.created_at, now)}${by(context.createdBy)}`],
    ['Updated', updated],
    ['Last click', link.last_clicked_at === null ? 'Never' : timeAgo(link.last_clicked_at, now)],
  ])
  if (defaults.length === 0) return facts
  return html`<div>${facts}<details class="defaults"><summary>Default settings</summary>${factList(null, defaults)}</details></div>`
}

/** Fields with a special fact, in the heading or in the section of addresses. */
const described = new Set<string>([
  ...['url', 'domain_id', 'alias', 'exact', 'space_id', 'title', 'disabled', 'active_period_start_at'],
  ...['active_period_end_at', 'clicks_limit', 'expiration_url', 'redirect_password', 'forward_query'],
  ...['redirect_status', 'rules', 'tags', 'archived'],
])
const fields = Object.keys(linkLabels) as (keyof Link & keyof typeof linkLabels)[]
const plain = fields.filter((field) => !described.has(field))

/** Returns the other fields' values; null if they are empty. */
function plainFacts(link: Link, { timeZone, notes }: LinkContext): Fact[] {
  const context = { known: new Map(), timeZone }
  const shown = (field: (typeof plain)[number]) => html`${renderValue(field, link[field], context)}${notes(field)}`
  return plain.map((field) => [linkLabels[field], link[field] ? shown(field) : null])
}

function by(author: Html | null): Html | null {
  return author && html` by ${author}`
}

/** Returns "2 of 3 clicks used"; null without a limit. A limit may have been lowered below the clicks. */
function limitUse({ clicks, clicks_limit: limit }: Link): string | null {
  return limit === null ? null : `${formatCount(Math.min(clicks, limit))} of ${quantity(limit, 'click')} used`
}

/** Returns the destination after expiry; null if the link can't expire, or if its state already says where visitors go. */
function afterExpiry(link: Link, { domain, notes }: LinkContext): Html | null {
  const { expiration_url, active_period_end_at, clicks_limit, status } = link
  if (expiration_url !== null) return html`${shortLink(expiration_url)}${notes('expiration_url')}`
  if (status === 'expired' || (active_period_end_at === null && clicks_limit === null)) return null
  return domain.not_found_url === null ? html`${expiredPage}` : notFoundLink(domain.not_found_url)
}

const expiredPage = 'The page “This link has expired”'

/** Says where visitors go now. Returns null for an active link. */
export function detourSentence(link: Link, { domain: { not_found_url }, timeZone }: LinkContext): Html | null {
  const { status, expiration_url } = link
  if (status === 'active') return null
  const detour = (page: string) =>
    not_found_url === null
      ? html`visitors see the page “${page}”`
      : html`visitors are redirected to ${notFoundLink(not_found_url)}`
  const sentence = {
    disabled: () => html`Disabled: ${detour('Link not found')}.`,
    scheduled: () =>
      html`Starts on ${dayElement(String(link.active_period_start_at), timeZone)}: until then, ${detour('Link not found')}.`,
    expired: () =>
      html`${endOf(link, timeZone)}: ${expiration_url === null ? detour('This link has expired') : html`visitors are redirected to ${shortLink(expiration_url)}`}.`,
  }[status]()
  return html`<p class="attention">${sentence}</p>`
}

function endOf({ clicks, clicks_limit, last_clicked_at, active_period_end_at }: Link, timeZone: string): Html {
  if (clicks_limit === null || clicks < clicks_limit)
    return html`Expired on ${dayElement(String(active_period_end_at), timeZone)}`
  // With more clicks, the limit was lowered later, at an unknown time.
  const isExact = clicks === clicks_limit && last_clicked_at !== null
  return isExact ? html`Used up on ${dayElement(last_clicked_at, timeZone)}` : html`Used up`
}

function notFoundLink(url: string): Html {
  return html`${shortLink(url)}, the domain’s URL for unknown links`
}

export function shortLink(url: string): Html {
  return externalLink(url, destination(url, shownShortly))
}

export function externalLink(url: string, text: Html): Html {
  return isLinkable(url) ? html`<a href="${url}" title="${url}" rel="noreferrer">${text}</a>` : text
}
