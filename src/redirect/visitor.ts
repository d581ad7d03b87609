import { randomInt } from 'node:crypto'
import type { Calendar } from '../accounts/calendar.ts'
import { type ClassifiedRequest, classifyVisit } from '../analytics/capture/browser-headers.ts'
import { countryIn } from '../analytics/capture/countries.ts'
import { preferredLanguage } from '../analytics/capture/language.ts'
import { detectSoftware } from '../analytics/capture/software.ts'
import { maxUserAgent, type Visit } from '../analytics/capture/visit.ts'
import { hashToFraction } from '../analytics/capture/visitor-hash.ts'
import type { RuleVisitor } from '../rules/matchers.ts'
import type { ServedLink } from './store.ts'
import type { VisitorSources } from './visitor-sources.ts'

/** How much of each header is used. Clicks wait in memory, so their size is limited. Characters. */
const [maxReferrer, maxShort] = [1_200, 256]
/** A header that was sent twice is a list. */
const isSet = /(?:^|,)\s*1\s*(?:,|$)/

type Sources = Pick<VisitorSources, 'countries' | 'findSalt'>

/** A request, or what `explain` assumes. */
export interface VisitorParts extends ClassifiedRequest {
  readonly ipAddress: string
  /** The header with the country, in lower case; null if there is none. */
  readonly countryHeader: string | null
  /** The query of the visited URL. */
  readonly query: string
  /** Whether the visitor has sent the form with the password, which the destination must not get. */
  readonly hasSentForm: boolean
}

/** A visitor of a short link. Facts are computed when they are first read, because most links need none. */
export class Visitor implements RuleVisitor {
  readonly #parts: VisitorParts
  readonly #sources: Sources
  #class: Visit['class'] | undefined
  #country: string | null | undefined
  #query: QueryParameters | undefined

  constructor(parts: VisitorParts, sources: Sources) {
    this.#parts = parts
    this.#sources = sources
  }

  get atMs(): number {
    return this.#parts.atMs
  }

  /** Only people type passwords, whatever the user agent. */
  get class(): Visit['class'] {
    this.#class ??= this.hasSentForm ? 'person' : classifyVisit(this.#parts)
    return this.#class
  }

  get hasSentForm(): boolean {
    return this.#parts.hasSentForm
  }

  get userAgent(): string {
    return cut(this.#parts.headers['user-agent'], maxUserAgent)
  }

  /** Whether the visitor asks not to be tracked: `Sec-GPC` or `DNT`. */
  get isPrivate(): boolean {
    const { headers } = this.#parts
    return isSet.test(String(headers['sec-gpc'])) || isSet.test(String(headers.dnt))
  }

  /** Whether a header names the country, so that it need not be looked up. */
  get hasCountryHeader(): boolean {
    return this.#countryHeader !== ''
  }

  get country(): string | null {
    if (this.#country === undefined) {
      const header = this.#countryHeader
      this.#country = header === '' ? (this.#sources.countries?.of(this.#ipAddress, '') ?? null) : countryIn(header)
    }
    return this.#country
  }

  get language(): string | null {
    return preferredLanguage(this.#languages)
  }

  get software(): RuleVisitor['software'] {
    return detectSoftware(this.userAgent)
  }

  get query(): QueryParameters {
    this.#query ??= new QueryParameters(this.#parts.query)
    return this.#query
  }

  /** Returns the same visitor of another short link, to which the first one redirects. */
  following(query: string): Visitor {
    return new Visitor({ ...this.#parts, query }, this.#sources)
  }

  /** Returns a number from 0 up to 1. It is the same for all visits to a link on a day of the calendar, unless they are private. */
  draw(link: number, calendar: Calendar): number {
    const salt = this.isPrivate ? undefined : this.#sources.findSalt(calendar.hourAt(this.atMs).dayStartMs)
    if (salt === undefined) return randomInt(2 ** 32) / 2 ** 32
    return hashToFraction({ link, ipAddress: this.#ipAddress, userAgent: this.userAgent }, salt)
  }

  /** Returns the visit to a link of a host, as analytics counts it. `rule` decided the destination. */
  visitTo(link: Pick<ServedLink, 'id' | 'addressId'>, host: string, rule: string | null): Visit {
    return {
      link: link.id,
      addressId: link.addressId,
      atMs: this.atMs,
      class: this.class,
      isPrivate: this.isPrivate,
      ipAddress: this.#ipAddress,
      host,
      userAgent: this.userAgent,
      referrer: cut(this.#parts.headers.referer, maxReferrer),
      languages: this.#languages,
      // Spares the click writer a lookup.
      country: this.#country ?? this.#countryHeader,
      rule,
      count: 1,
    }
  }

  get #ipAddress(): string {
    return cut(this.#parts.ipAddress, maxShort)
  }

  get #languages(): string {
    return cut(this.#parts.headers['accept-language'], maxShort)
  }

  get #countryHeader(): string {
    const { countryHeader, headers } = this.#parts
    return countryHeader === null ? '' : cut(String(headers[countryHeader] ?? ''), maxShort)
  }
}

/** The parameters of a query. A lookup takes the same time however many there are: rules look up hundreds. */
class QueryParameters implements Pick<URLSearchParams, 'has'> {
  readonly #values = new Map<string, Set<string>>()

  constructor(query: string) {
    for (const [name, value] of new URLSearchParams(query))
      this.#values.getOrInsertComputed(name, () => new Set()).add(value)
  }

  has(name: string, value?: string): boolean {
    const values = this.#values.get(name)
    return values !== undefined && (value === undefined || values.has(value))
  }
}

/** Returns the start of a header, which is Latin-1, as a copy. A slice would retain the whole header. */
function cut(header: string | undefined, max: number): string {
  if (header === undefined || header.length <= max) return header ?? ''
  return Buffer.from(header.slice(0, max), 'latin1').toString('latin1')
}
