import { databaseUnavailable, overloaded } from '../errors.ts'
import { LruCache } from '../lib/lru-cache.ts'
import { Periodic } from '../lib/periodic.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { foldCase } from '../lib/text.ts'
import { keySeparator } from '../names/alias.ts'
import { type AppLinks, noAppLinks } from '../names/app-links.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Change, ChangePosition, Changes, Meter, Storage } from '../storage/port.ts'
import { Refusal } from '../violations.ts'
import { DomainTable } from './domain-table.ts'
import { findAppLinks, findServedLink, isUsedUp, prepareDomain, type ServedDomain, type ServedLink } from './store.ts'

export interface DirectoryOptions {
  /** How old memory may get while the database is down. Milliseconds. */
  readonly staleForMs: number
  /** Gets the first error of each outage of the database. */
  readonly onProblem: (error: unknown) => void
  readonly maxLinkBytes?: number
}

type Lookups = Map<string, Promise<ServedLink | null>>

/** About 60,000 links of average length. */
const maxLinkBytes = 60_000_000
const maxUnknown = 10_000
/** More than 1,000 domains with small files, or 50 with the largest. */
const maxAppLinkBytes = 5_000_000
/** On SQLite, one event-loop tick reads this many within 20 ms. */
const maxLookups = 800
/** Changes of domains by this process, after which it polls earlier. */
const polledTogether = 500
/** Less than the second within which links of other processes must be found. Milliseconds. */
const unknownForMs = 900

/** The redirect server's memory: all domains, and recently visited links. Sees changes elsewhere within a second. */
export class Directory {
  readonly #storage: Storage
  readonly #domains: DomainTable
  readonly #feed: ChangeFeed
  /** By the folded alias if the address ignores case, and no exact address differs from it only in case. */
  readonly #links: LruCache<string, ServedLink>
  /** By the domain as it was read, so that the files of a changed domain are read again. */
  readonly #appLinks = new LruCache<ServedDomain, AppLinks>(maxAppLinkBytes)
  /** Cache keys by link id: one for each address, and for each spelling beside exact addresses. */
  #keys = new Map<number, Set<string>>()
  /** The cached links with rules by account, because rules depend on its time zone. */
  #ruled = new Map<number, Set<number>>()
  /** Until when a missing link counts as missing, by domain and alias. */
  readonly #unknown = new LruCache<string, number>(maxUnknown)
  /** Replaced whenever a link changes: earlier reads must not be cached, and not answer later visits. */
  #lookups: Lookups = new Map()
  readonly #lookupSlots = new Semaphore({
    concurrency: maxLookups,
    maxQueue: 0,
    rejection: () => {
      this.#refused += 1
      return overloaded('Too many short links are being looked up. Try again shortly.')
    },
  })
  #missed = 0
  #refused = 0
  #stored = 0
  readonly #staleForMs: number

  constructor(storage: Storage, options: DirectoryOptions) {
    this.#storage = storage
    this.#staleForMs = options.staleForMs
    this.#domains = new DomainTable(storage)
    this.#links = new LruCache(options.maxLinkBytes ?? maxLinkBytes, (key, link) => this.#forget(key, link))
    const apply = (changes: Changes['changes']) => this.#apply(changes)
    this.#feed = new ChangeFeed(storage, apply, options.onProblem)
  }

  /** Loads all domains, and starts to follow changes. Retries until the database responds. */
  start(): Promise<void> {
    return this.#feed.start()
  }

  /** Returns the database id. Throws `database_unavailable` until the database has responded. */
  databaseId(): string {
    const { databaseId } = this.#feed
    if (databaseId === null) throw databaseUnavailable(new Error('The database has not responded yet.'))
    return databaseId
  }

  /** Returns the domain of this name (A-labels, lower case). Throws `database_unavailable` if memory is too old. */
  domainNamed(name: string): ServedDomain | undefined {
    if (this.#feed.ageMs > this.#staleForMs) throw databaseUnavailable(new Error('The data in memory is too old.'))
    return this.#domains.named(name)
  }

  /** Returns whether memory has a domain of this name in any spelling, however old memory is. */
  hasDomain(text: string): boolean {
    const host = parseHostName(text)
    return !(host instanceof Refusal) && this.#domains.named(host.name) !== undefined
  }

  /** Returns the domain's link with this alias in NFC, or a promise if it must be read. Throws `overloaded`. */
  findLink(domain: ServedDomain, alias: string): ServedLink | null | Promise<ServedLink | null> {
    const anyCase = anyCaseKey(domain.id, alias)
    const common = this.#links.get(anyCase)
    if (common !== undefined) return common
    const unknownUntil = this.#unknown.get(anyCase)
    if (unknownUntil !== undefined && unknownUntil > performance.now()) return null
    const key = spellingKey(domain.id, alias)
    return this.#links.get(key) ?? this.#lookups.get(key) ?? this.#lookUp(key, domain.id, alias)
  }

  /** Returns the files of apps of a served domain, or a promise if they must be read. Throws `overloaded`. */
  findAppLinks(domain: ServedDomain): AppLinks | Promise<AppLinks> {
    if (domain.has_app_links === 0) return noAppLinks
    return this.#appLinks.get(domain) ?? this.#lookupSlots.run(() => this.#readAppLinks(domain))
  }

  /** Returns whether a cached link's limit is reached by now, which the cache does not notice. Throws `overloaded`. */
  isUsedUp(link: ServedLink): Promise<boolean> {
    return this.#lookupSlots.run(() => isUsedUp(this.#storage, link))
  }

  /** Drops a changed link. Must be called after the commit and before the response, with the new alias. */
  linkChanged(id: number, domainId: number, alias: string): void {
    const key = anyCaseKey(domainId, alias)
    this.#links.delete(key)
    this.#links.delete(spellingKey(domainId, alias))
    this.#dropLink(id)
    this.#unknown.delete(key)
    this.#lookups = new Map()
  }

  /** Serves a stored or changed domain. Must be called after the commit and before the response. */
  domainChanged(domain: Parameters<typeof prepareDomain>[0]): void {
    if (!this.#feed.isStarted) return
    this.#domains.set(prepareDomain(domain))
    this.#stored += 1
    // The feed has these changes, too, and would read everything again after too many of them.
    if (this.#stored % polledTogether === 0) void this.#feed.poll()
  }

  /** Resolves when memory has everything that was committed before the call, or the database has failed. */
  refresh(): Promise<void> {
    return this.#feed.poll()
  }

  get meters(): readonly Meter[] {
    return [
      { name: 'domains', help: 'Domains in memory.', value: () => this.#domains.size },
      { name: 'links', help: 'Links in memory.', value: () => this.#links.size },
      { name: 'unknown_aliases', help: 'Recently requested aliases without a link.', value: () => this.#unknown.size },
      {
        name: 'missed_lookups_total',
        help: 'Lookups in the database since the start, for links that were not in memory.',
        value: () => this.#missed,
      },
      {
        name: 'refused_lookups_total',
        help: 'Lookups rejected since the start, because too many were running.',
        value: () => this.#refused,
      },
      {
        name: 'age_seconds',
        help: 'Time since the last update of the cache. It grows while the database is down.',
        value: () => this.#feed.ageMs / 1000,
      },
    ]
  }

  close(): Promise<void> {
    return this.#feed.close()
  }

  #lookUp(key: string, domainId: number, alias: string): Promise<ServedLink | null> {
    const lookups = this.#lookups
    const lookup = this.#lookupSlots
      .run(() => this.#read(key, domainId, alias, lookups))
      .finally(() => lookups.delete(key))
    lookups.set(key, lookup)
    return lookup
  }

  async #read(key: string, domainId: number, alias: string, lookups: Lookups): Promise<ServedLink | null> {
    this.#missed += 1
    const start = performance.now()
    const { link, ignoresCase } = await findServedLink(this.#storage, domainId, alias)
    if (this.#lookups !== lookups) return link
    if (link === null) {
      if (ignoresCase) this.#unknown.set(anyCaseKey(domainId, alias), start + unknownForMs)
      return null
    }
    const cached = ignoresCase ? anyCaseKey(domainId, alias) : key
    this.#links.set(cached, link, estimateBytes(link))
    this.#keys.getOrInsertComputed(link.id, () => new Set()).add(cached)
    if (link.rules !== null) this.#ruled.getOrInsertComputed(link.account_id, () => new Set()).add(link.id)
    return link
  }

  async #readAppLinks(domain: ServedDomain): Promise<AppLinks> {
    this.#missed += 1
    const links = await findAppLinks(this.#storage, domain)
    const characters = Object.values(links).reduce((sum, text) => sum + (text?.length ?? 0), 0)
    this.#appLinks.set(domain, links, 300 + 2 * characters)
    return links
  }

  async #apply(changes: Changes['changes']): Promise<void> {
    if (changes === 'unknown') {
      this.#lookups = new Map()
      this.#links.clear()
      this.#keys = new Map()
      this.#ruled = new Map()
      this.#unknown.clear()
      await this.#domains.load()
      return
    }
    const changedIds = (of: Change['resource']) => [
      ...new Set(changes.flatMap(({ resource, id }) => (resource === of ? [id] : []))),
    ]
    const ruled = changedIds('accounts').flatMap((account) => [...(this.#ruled.get(account) ?? [])])
    if (changes.some(({ resource }) => resource !== 'domains')) this.#lookups = new Map()
    for (const id of [...changedIds('links'), ...ruled]) this.#dropLink(id)
    await this.#domains.refresh(changedIds('domains'))
  }

  /** Forgets where a link was that left the cache. */
  #forget(key: string, { id, account_id }: ServedLink): void {
    const keys = this.#keys.get(id)
    keys?.delete(key)
    if (keys === undefined || keys.size > 0) return
    this.#keys.delete(id)
    const ruled = this.#ruled.get(account_id)
    if (ruled?.delete(id) && ruled.size === 0) this.#ruled.delete(account_id)
  }

  #dropLink(id: number): void {
    for (const key of this.#keys.get(id) ?? []) this.#links.delete(key)
  }
}

function spellingKey(domainId: number, alias: string): string {
  return `${domainId}/${alias}`
}

/** Returns the key of an address that ignores case. No alias starts with a control character. */
function anyCaseKey(domainId: number, alias: string): string {
  return `${domainId}/${keySeparator}${foldCase(alias)}`
}

/** Returns the approximate memory of a link in bytes. The redirect has its URL in several forms, and a page. */
function estimateBytes({ alias, expiration_url, destinations, rules }: ServedLink): number {
  const ofDestinations = destinations.reduce(
    (sum, { location, body }) => sum + 500 + 4 * location.length + body.length,
    0,
  )
  return 100 + 2 * (alias.length + (expiration_url?.length ?? 0)) + ofDestinations + (rules?.weight ?? 0)
}

/** Changes must be visible everywhere within a second. Milliseconds. */
const everyMs = 500
/** After a longer pause of this process, changes may have been pruned before they were read. Milliseconds. */
const maxPauseMs = 30_000
/** Changes are pruned when they are one to two of these intervals old. Milliseconds. */
const pruneEveryMs = 60_000

type Apply = (changes: Changes['changes']) => Promise<void>

/** Polls changes of other processes. NOTIFY would serialize commits, and lose changes with its connection. */
class ChangeFeed {
  readonly #storage: Storage
  readonly #apply: Apply
  readonly #onProblem: (error: unknown) => void
  readonly #polling: Periodic
  #position: ChangePosition | null = null
  #updatedAt = Number.NEGATIVE_INFINITY
  #isAway = false
  #pruning: Promise<void> = Promise.resolve()
  #prunedAt = performance.now()
  #prunable: ChangePosition | undefined

  /** `apply` updates memory. If it fails, it gets `unknown` next. `onProblem` gets the first error of each outage. */
  constructor(storage: Storage, apply: Apply, onProblem: (error: unknown) => void) {
    this.#storage = storage
    this.#apply = apply
    this.#onProblem = onProblem
    this.#polling = new Periodic(() => this.#poll(), { everyMs, onError: (error) => this.#fail(error) })
  }

  get ageMs(): number {
    return performance.now() - this.#updatedAt
  }

  /** The database id; null until the database has responded. */
  get databaseId(): string | null {
    return this.#position?.database ?? null
  }

  /** Whether this process has a redirect server. Otherwise, nothing is kept in memory. */
  get isStarted(): boolean {
    return this.#polling.isStarted
  }

  /** Starts to follow. Resolves when everything is loaded, or the database has failed. */
  start(): Promise<void> {
    this.#polling.start()
    return this.poll()
  }

  /** Resolves when memory has everything that was committed before the call, or the database has failed. */
  async poll(): Promise<void> {
    if (this.isStarted) await this.#polling.run()
  }

  async close(): Promise<void> {
    await this.#polling.close()
    await this.#pruning
  }

  async #poll(): Promise<void> {
    const start = performance.now()
    const { position, changes } = await this.#storage.changesAfter(this.#position)
    const isUnsure = this.#isAway || start - this.#updatedAt > maxPauseMs
    await this.#apply(isUnsure ? 'unknown' : changes)
    if (changes === 'unknown') this.#prunable = undefined
    this.#position = position
    this.#updatedAt = start
    this.#isAway = false
    if (start - this.#prunedAt >= pruneEveryMs) this.#prune(position, start)
  }

  #fail(error: unknown): void {
    if (!this.#isAway) this.#onProblem(error)
    this.#isAway = true
  }

  /** Prunes up to the position of a minute ago, which every node has read. The next prune makes up for a failed one. */
  #prune(position: ChangePosition, start: number): void {
    if (this.#prunable !== undefined) this.#pruning = this.#storage.pruneChanges(this.#prunable).catch(() => undefined)
    this.#prunable = position
    this.#prunedAt = start
  }
}
