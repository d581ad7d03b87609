/**
 * The links of a prepared database, and their clicks. As in `records.ts`, the same number always gives the same link.
 */
import type { LinkHistory } from '../src/links/batch-insertion.ts'
import { type LinkValues, type NewLink, storeLink } from '../src/links/schema.ts'
import { below, brands, hostNameOf, modulus, tokenNumberOf, tokenOf } from './records.ts'

/** Links that each domain has. */
export const linksPerDomain = 10

/** Returns the number of domains for this number of links. */
export function domainsFor(links: number): number {
  return Math.ceil(links / linksPerDomain)
}

/** Returns the number of the link's domain. Consecutive links are on different domains. */
export function domainOf(link: number, domains: number): number {
  return 1 + (link % domains)
}

const folders = 'go docs spring promo team'.split(' ')

/** Returns the alias of a link, unique on all domains. One in four has upper case, one in eight a slash. */
export function aliasOf(link: number): string {
  const token = tokenOf(link)
  const name = link % 4 === 0 ? `${token.slice(0, 3).toUpperCase()}${token.slice(3)}` : token
  return link % 8 === 1 ? `${folders[link % folders.length]}/${name}` : name
}

const slugs = [
  'pricing',
  'blog/how-we-halved-our-build-times',
  'products/shoes/running/trail-runner-2',
  'docs/getting-started',
  'events/2026/autumn-conference/schedule',
  'p/B0CX23V2ZK',
  'careers/senior-engineer-berlin',
]
const campaigns = ['', '', '?ref=mail', '?utm_source=newsletter&utm_medium=email', '?utm_campaign=launch&utm_source=x']

/** Returns the destination of a link, with 46 to 121 characters. */
export function targetOf(link: number): string {
  const site = `https://www.${brands[link % 15]}-shop.example/${slugs[link % slugs.length]}`
  return `${site}/${link.toString(36).padStart(8, '0')}${campaigns[(link >> 3) % campaigns.length]}`
}

const { domain_id: _, ...defaults } = storeLink.check({ url: 'https://acme.com/' }) as NewLink

/** Rules of a link, as JSON: for a country, a language and a device. */
export const threeRules = JSON.stringify([
  { name: 'Germany', countries: ['DE', 'AT', 'CH'], url: 'https://www.acme-shop.example/de' },
  { name: 'French', languages: ['fr'], url: 'https://www.acme-shop.example/fr' },
  { name: 'Phones', devices: ['mobile'], url: 'https://m.acme-shop.example/' },
])

/** Returns a link as its owner would store it. One in four has a title, one in ten has rules. */
export function linkOf(link: number): LinkValues & { readonly alias: string } {
  const title = link % 4 === 2 ? `Spring campaign of ${brands[link % 15]}, letter ${link}` : null
  return { ...defaults, alias: aliasOf(link), url: targetOf(link), title, rules: link % 10 === 7 ? threeRules : null }
}

/** Returns the history of a link. Half of the links have one click, and one link in n has more than n. */
export function historyOf(link: number): LinkHistory {
  const clicks = Math.floor(modulus / tokenNumberOf(link))
  return {
    clicks,
    bots: 0,
    previews: 0,
    last_clicked_ms: Date.parse(storedAt),
    created_at: storedAt,
    updated_at: storedAt,
  }
}

const storedAt = '2026-11-01T08:00:00.000Z'

/** Caches host names, because building a name takes longer than sending a request. */
export class HostNames {
  readonly #names: string[] = []

  of(domain: number): string {
    const name = this.#names[domain] ?? hostNameOf(domain).name
    this.#names[domain] = name
    return name
  }
}

/** Returns a generator of numbers from 1 to `count` by Zipf's law with exponent 1. Ranks are scattered over the numbers. */
export function zipf(count: number): () => number {
  const upTo = new Float64Array(count)
  let sum = 0
  for (let rank = 1; rank <= count; rank++) {
    sum += 1 / rank
    upTo[rank - 1] = sum
  }
  return () => numberOfRank(indexAbove(upTo, Math.random() * sum), count)
}

/** Maps ranks, which start at 0, to different numbers from 1 to `count`. */
export function numberOfRank(rank: number, count: number): number {
  // The prime is larger than any count, so the numbers are unique.
  return 1 + ((rank * (modulus % count)) % count)
}

/** Returns the first index with a greater value. The sum up to a rank is about its logarithm, so it starts there. */
function indexAbove(upTo: Float64Array, value: number): number {
  let at = Math.min(upTo.length - 1, Math.floor(Math.exp(value - eulersConstant)))
  while (at > 0 && (upTo[at - 1] as number) > value) at -= 1
  while ((upTo[at] as number) <= value) at += 1
  return at
}

const eulersConstant = 0.5772156649

/** Returns a generator of uniform numbers from 1 to `count`. */
export function evenly(count: number): () => number {
  return () => 1 + below(count)
}
