/** What is wrong with a link's values, apart from each value by itself. */
import type { Reading } from '../forms/form.ts'
import { matchesShortUrl, type ShortUrl } from '../names/short-url.ts'
import { schemeRefusal } from '../names/web-url.ts'
import { Refusal, type Violation } from '../violations.ts'
import {
  conflictsIn,
  destinationsIn,
  type LinkChange,
  type LinkRow,
  type NewLink,
  type WithDestinations,
} from './schema.ts'
import { type LinkDomain, unknownDomain, unknownSpace } from './store.ts'

/** The rules of links that depend on the configuration. */
export interface LinkRules {
  readonly shortUrl: ShortUrl
  /** The schemes of destinations in addition to the standard ones. */
  readonly urlSchemes: readonly string[]
}

/** Adds violations for new destinations whose scheme the instance does not allow. Stored destinations keep working. */
export function withScheme<T extends WithDestinations>(
  { values, violations }: Reading<T>,
  { urlSchemes }: LinkRules,
): Reading<T> {
  const refused = destinationsIn(values as Partial<T>).flatMap(
    ({ field, url }) => schemeRefusal(url, urlSchemes)?.at(field) ?? [],
  )
  return { values, violations: [...violations, ...refused] }
}

/**
 * Returns the violations that depend on other records. `domain` is undefined if it does not exist, and null if the field is
 * invalid by itself. `hasSpace` is false if the space does not exist.
 */
export function newLinkViolations(
  values: Partial<NewLink>,
  { domain, hasSpace }: { readonly domain: LinkDomain | undefined | null; readonly hasSpace: boolean },
  shortUrl: ShortUrl,
): Violation[] {
  const all: Violation[] = []
  if (domain === undefined) all.push(values.domain_id ? unknownDomain(values.domain_id) : missingDomain)
  if (!hasSpace) all.push(unknownSpace(values.space_id ?? 0))
  all.push(...conflictsIn(values))
  if (domain && values.alias) all.push(...loopViolations(values, [shortUrl(domain.name, values.alias)]))
  return all
}

const missingDomain = new Refusal('required.any_domain').at('domain_id')

/**
 * Returns the violations of a change that depend on the link's other values. `domain_name` is that of a link that moves, and
 * `further` are the short URLs of its other addresses.
 */
export function changeViolations(
  old: LinkRow,
  change: LinkChange & { readonly domain_name?: string },
  further: readonly string[],
  shortUrl: ShortUrl,
): Violation[] {
  const all: Violation[] = []
  const { active_period_start_at = old.active_period_start_at, active_period_end_at = old.active_period_end_at } =
    change
  if (change.active_period_start_at !== undefined || change.active_period_end_at !== undefined) {
    all.push(...conflictsIn({ active_period_start_at, active_period_end_at }))
  }
  const { url = old.url, rules = old.rules, redirect_status = old.redirect_status } = change
  if (change.rules !== undefined || change.redirect_status !== undefined) {
    all.push(...conflictsIn({ redirect_status, rules }))
  }
  const { alias = old.alias, domain_name = old.domain_name ?? '' } = change
  if (
    change.url !== undefined ||
    change.rules !== undefined ||
    alias !== old.alias ||
    domain_name !== old.domain_name
  ) {
    all.push(...loopViolations({ url, rules }, [shortUrl(domain_name, alias), ...further]))
  }
  return all
}

/** Returns a violation for another domain, which could otherwise seem to be stored. The current id may be sent back. */
export function domainViolations({ domain_id, domain_name }: LinkRow, sent: string | undefined): Violation[] {
  if (sent === undefined || sent === String(domain_id)) return []
  return [new Refusal('prohibited', { current: `${domain_id}, ${domain_name}`, record: 'link' }).at('domain_id')]
}

/** Returns a violation for each destination that is one of the link's own short URLs. */
export function loopViolations(values: WithDestinations, shortUrls: readonly string[]): Violation[] {
  return destinationsIn(values).flatMap(({ field, url }) => {
    const shortUrl = shortUrls.find((each) => matchesShortUrl(url, each))
    return shortUrl === undefined ? [] : new Refusal('loops', { shortUrl }).at(field)
  })
}
