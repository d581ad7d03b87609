import { databaseUnavailable, overloaded } from '../errors.ts'
import { LruCache } from '../lib/lru-cache.ts'
import type { Changes, Meter, Storage } from '../storage/port.ts'
import { DomainTable } from './domain-table.ts'
import { Feed } from './feed.ts'
import { LinkCache } from './link-cache.ts'
import { weightOf } from './link-weight.ts'
import type { DomainRow, LinkRow } from './statements.ts'
import { findLink } from './store.ts'

/** A domain, as far as its visitors notice it. */
export type ServedDomain = DomainRow

/** A link, as far as its visitors notice it. */
export interface ServedLink {
  readonly id: number
  readonly domain_id: number
  readonly alias: string
  readonly url: string
  readonly title: string | null
  readonly disabled: boolean
  /** Unix milliseconds; null: no bound. */
  readonly startsAt: number | null
  readonly endsAt: number | null
  readonly clicks_limit: number | null
  /** Whether the limit was reached when this was read, or has been found reached since. */
  isUsedUp: boolean
  readonly expiration_url: string | null
  readonly redirect_password: string | null
  readonly forward_query: boolean
  readonly redirect_status: 301 | 302 | 307 | 308
  /** Where the listener keeps what it made ready of the link; dies with the entry. */
  ready: unknown
}

export interface DirectoryOptions {
  /** Milliseconds after which memory that cannot be brought up to date is not served any more. */
  readonly staleForMs: number
  /** Hears once of each outage of the database. */
  readonly onProblem: (error: unknown) => void
  /** Milliseconds on a clock that is never set. */
  readonly now?: () => number
  /** About how much each of two generations of links may take. Bytes. */
  readonly generationBytes?: number
  /** How many aliases without a link are remembered. */
  readonly maxUnknown?: number
  /** How many lookups may be under way. */
  readonly maxLookups?: number
}

type Lookups = Map<string, Promise<ServedLink | null>>

/** Some 30 000 links of a usual length in each generation. */
const generationBytes = 30_000_000
const maxUnknown = 10_000
/** On SQLite, one turn of the event loop reads this many within 20 ms. */
const maxLookups = 800
/** Less than the second within which a link that another process stored must be found. Milliseconds. */
const unknownForMs = 900
/** No alias is longer: 128 code points, which folding makes three times as many at most, of two units each. */
const maxAliasUnits = 768

/**
 * What the listener for visitors knows: all domains, and the links that were asked for lately. Changes of other
 * processes and nodes reach it within a second, whatever becomes of the wall clock.
 */
export class Directory {
  readonly #storage: Storage
  readonly #domains: DomainTable
  readonly #feed: Feed
  readonly #links: LinkCache<ServedLink>
  /** When the answer that there is no link ceases to hold, by domain and alias. */
  readonly #unknown: LruCache<string, number>
  /** Replaced whenever a link changes: what was read before must neither be kept nor answer a later visit. */
  #lookups: Lookups = new Map()
  #underWay = 0
  #missed = 0
  #refused = 0
  readonly #now: () => number
  readonly #staleForMs: number
  readonly #maxLookups: number
  readonly meters: readonly Meter[]

  constructor(storage: Storage, options: DirectoryOptions) {
    this.#storage = storage
    this.#now = options.now ?? (() => performance.now())
    this.#staleForMs = options.staleForMs
    this.#domains = new DomainTable(storage)
    this.#links = new LinkCache(options.generationBytes ?? generationBytes)
    this.#unknown = new LruCache({ maxEntries: options.maxUnknown ?? maxUnknown })
    this.#maxLookups = options.maxLookups ?? maxLookups
    const apply = (changes: Changes['changes']) => this.#apply(changes)
    this.#feed = new Feed(storage, { now: this.#now, apply, onProblem: options.onProblem })
    this.meters = this.#meters()
  }

  /** How many links are in memory. */
  get size(): number {
    return this.#links.size
  }

  /** Loads all domains, and begins to follow changes. If the database fails, it is asked again until it answers. */
  begin(): Promise<void> {
    return this.#feed.begin()
  }

  /** The id of the database that memory was loaded from. Throws `database_unavailable` until there is one. */
  databaseId(): string {
    const { databaseId } = this.#feed
    if (databaseId === null) throw databaseUnavailable(new Error('The database has not answered yet.'))
    return databaseId
  }

  /**
   * The domain of this name, an A-label in lower case; from memory alone. Throws `database_unavailable` when memory is
   * too old.
   */
  domainNamed(name: string): ServedDomain | undefined {
    if (this.#feed.ageMs > this.#staleForMs) throw databaseUnavailable(new Error('What is in memory is too old.'))
    return this.#domains.named(name)
  }

  /** Whether there is a domain of this name, as far as memory knows, however old that is. */
  hasDomain(name: string): boolean {
    return this.#domains.named(name) !== undefined
  }

  /**
   * The domain's link with this folded alias, null if there is none: at once from memory, a promise if the database has
   * to be asked. Throws `overloaded`, rejects with `database_unavailable`.
   */
  linkOf(domain: ServedDomain, aliasFolded: string): ServedLink | null | Promise<ServedLink | null> {
    const key = keyOf(domain.id, aliasFolded)
    const link = this.#links.get(key)
    if (link !== undefined) return link
    if (aliasFolded.length > maxAliasUnits) return null
    const unknownUntil = this.#unknown.get(key)
    if (unknownUntil !== undefined && unknownUntil > this.#now()) return null
    return this.#lookups.get(key) ?? this.#lookUp(key, domain.id, aliasFolded)
  }

  /**
   * Forgets a link that this process has stored, edited or deleted, and what there was with the alias, which is that
   * after the change. To be called after the commit and before the answer.
   */
  linkChanged(id: number, domainId: number, aliasFolded: string): void {
    const key = keyOf(domainId, aliasFolded)
    this.#links.forget(key, id)
    this.#unknown.delete(key)
    this.#lookups = new Map()
  }

  /** Resolves once memory has what was committed before the call, or the database has failed. */
  domainsChanged(): Promise<void> {
    return this.#feed.look()
  }

  /** Ceases to follow changes. */
  close(): Promise<void> {
    return this.#feed.close()
  }

  #lookUp(key: string, domainId: number, alias: string): Promise<ServedLink | null> {
    if (this.#underWay >= this.#maxLookups) {
      this.#refused += 1
      throw overloaded('Too many short links are being looked up. Try again shortly.')
    }
    this.#underWay += 1
    this.#missed += 1
    const lookup = this.#read(key, domainId, alias, this.#lookups)
    this.#lookups.set(key, lookup)
    return lookup
  }

  async #read(key: string, domainId: number, alias: string, lookups: Lookups): Promise<ServedLink | null> {
    const start = this.#now()
    try {
      const row = await findLink(this.#storage, domainId, alias)
      const link = row === undefined ? null : toServed(row)
      if (this.#lookups !== lookups) return link
      if (link === null) this.#unknown.set(key, start + unknownForMs)
      else this.#links.set(key, link, weightOf(link))
      return link
    } finally {
      this.#underWay -= 1
      lookups.delete(key)
    }
  }

  async #apply(changes: Changes['changes']): Promise<void> {
    if (changes === 'unknown') {
      this.#forgetLinks()
      await this.#domains.load()
      return
    }
    const links = changes.filter(({ resource }) => resource === 'links')
    if (links.length > 0) this.#lookups = new Map()
    for (const { id } of links) this.#links.forgetId(id)
    const domains = new Set(changes.filter(({ resource }) => resource === 'domains').map(({ id }) => id))
    await this.#domains.refresh([...domains])
  }

  #forgetLinks(): void {
    this.#lookups = new Map()
    this.#links.clear()
    this.#unknown.clear()
  }

  #meters(): Meter[] {
    return [
      { name: 'domains', help: 'Domains in memory.', value: () => this.#domains.size },
      { name: 'links', help: 'Links in memory.', value: () => this.#links.size },
      { name: 'unknown_aliases', help: 'Aliases in memory that no link has.', value: () => this.#unknown.size },
      { name: 'missed_lookups', help: 'Lookups of links that memory could not answer.', value: () => this.#missed },
      { name: 'refused_lookups', help: 'Lookups refused because too many were under way.', value: () => this.#refused },
      {
        name: 'age_seconds',
        help: 'Time since memory was last known to have every change.',
        value: () => this.#feed.ageMs / 1000,
      },
    ]
  }
}

function keyOf(domainId: number, aliasFolded: string): string {
  return `${domainId}/${aliasFolded}`
}

function toServed(row: LinkRow): ServedLink {
  return {
    id: row.id,
    domain_id: row.domain_id,
    alias: row.alias,
    url: row.url,
    title: row.title,
    disabled: row.disabled === 1,
    startsAt: row.active_period_start_at === null ? null : Date.parse(row.active_period_start_at),
    endsAt: row.active_period_end_at === null ? null : Date.parse(row.active_period_end_at),
    clicks_limit: row.clicks_limit,
    isUsedUp: row.clicks_limit !== null && row.clicks >= row.clicks_limit,
    expiration_url: row.expiration_url,
    redirect_password: row.redirect_password,
    forward_query: row.forward_query === 1,
    redirect_status: row.redirect_status as ServedLink['redirect_status'],
    ready: undefined,
  }
}
