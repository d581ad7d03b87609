/** The columns of links that are stored or changed. */
import { foldCase } from '../lib/text.ts'
import { foldUrl } from '../lib/url-search.ts'
import { addressKey } from '../names/alias.ts'
import type { Times } from '../storage/records.ts'
import { type Lifetime, statusOf } from './link.ts'
import type { TagChange } from './link-tags.ts'
import { destinationsIn, type LinkChange, type LinkRow, type LinkValues } from './schema.ts'

/** The alias of a link. An imported one may break the rule of aliases. */
export interface NamedAlias {
  readonly alias: string
  readonly legacy?: boolean
}

/** Returns a new link's columns. `tags` are stored separately. */
export function newRow(
  account: number,
  domain: { readonly id: number },
  values: Omit<LinkValues, 'tags'> & NamedAlias,
  times: Times,
  {
    clicks = 0,
    folded = foldedOf(values),
  }: { readonly clicks?: number; readonly folded?: FoldedTexts | undefined } = {},
) {
  const now = new Date().toISOString()
  const lifetime: Lifetime = { ...values, clicks }
  return {
    ...columnsOf(values),
    domain_id: domain.id,
    ...times,
    ...folded,
    alias_folded: addressKey(values.alias, values.exact),
    legacy: Number(values.legacy ?? false),
    account_id: account,
    status: statusOf(lifetime, now),
    status_due_at: dueAt(lifetime, now),
  }
}

/** Returns when the status of a link may change by itself; null for never. */
function dueAt(link: Lifetime, now: string): string | null {
  const status = statusOf(link, now)
  if (status === 'scheduled') return link.active_period_start_at
  return status === 'active' ? link.active_period_end_at : null
}

type Values = Omit<LinkChange, 'tags' | 'keep_address'>

/** Changed link values, or their columns. Undefined values stay unchanged. */
export type ChangedLink = { readonly [Name in keyof Values]: Values[Name] | LinkRow[Name] } & {
  readonly domain_id?: number
  readonly tags?: LinkChange['tags'] | TagChange
}

/** Returns the columns of a change except `url_folded` and those of the address, and the columns that are set without a new version. */
export function changedColumns({ alias: _, exact: __, ...change }: Omit<ChangedLink, 'tags'>) {
  const affectsStatus = lifetimeFields.some((field) => change[field] !== undefined)
  // Sorts before every time, so that the status is updated before it is next used as a filter.
  const unversioned = affectsStatus ? { status_due_at: '' } : {}
  const title_folded = foldedTitle(change.title)
  return { columns: { ...columnsOf(change), title_folded }, unversioned }
}

const lifetimeFields = ['disabled', 'active_period_start_at', 'active_period_end_at', 'clicks_limit'] as const

type Columns<Values> = { readonly [Name in keyof Values]: Values[Name] extends boolean ? number : Values[Name] }

/** Returns values as columns have them: flags are 0 or 1. */
function columnsOf<Values extends object>(values: Values) {
  const columns: Record<string, unknown> = {}
  // Half as long as with `Object.fromEntries`, for each link of a batch.
  for (const [name, value] of Object.entries(values)) columns[name] = typeof value === 'boolean' ? Number(value) : value
  return columns as Columns<Values>
}

export type FoldedTexts = ReturnType<typeof foldedOf>

/** Returns the folded forms of the long texts that are searched; null if the form is the text itself. */
export function foldedOf({ url, rules, title }: Pick<LinkRow, 'url' | 'rules' | 'title'>) {
  return { url_folded: foldedDestinations({ url, rules }), title_folded: foldedTitle(title) }
}

/** Returns the folded forms of all destinations, in lines; null if that is the URL itself. */
export function foldedDestinations({ url, rules }: Pick<LinkRow, 'url' | 'rules'>): string | null {
  const folded = destinationsIn({ url, rules }).map((destination) => foldUrl(destination.url))
  return unlessSame(folded.join('\n'), url)
}

/** Returns whether `foldedDestinations` may have another result after the change. */
export function changesDestinations({ url, rules }: Pick<ChangedLink, 'url' | 'rules'>): boolean {
  return url !== undefined || rules !== undefined
}

function foldedTitle<Title extends string | null | undefined>(title: Title) {
  return title && unlessSame(foldCase(title), title)
}

function unlessSame(folded: string, text: string): string | null {
  return folded === text ? null : folded
}
