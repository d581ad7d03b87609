import type { Actor } from '../access/actor.ts'
import { checkedChange, deletionQuery } from '../api/operations.ts'
import { found, notFound, validationFailed } from '../errors.ts'
import type { Reading } from '../forms/form.ts'
import { type Fields, readText } from '../http/form-encoding.ts'
import { Ticks } from '../lib/ticks.ts'
import { matchesShortUrl, type ShortUrl } from '../names/short-url.ts'
import { schemeRefusal } from '../names/web-url.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import { Refusal, type Violation } from '../violations.ts'
import { furtherShortUrls } from './addresses.ts'
import { deleteLinks } from './deletion.ts'
import { tagViolations } from './link-tags.ts'
import {
  conflictsIn,
  destinationsIn,
  type Link,
  type LinkChange,
  type LinkRow,
  type LinkValues,
  type NewLink,
  storeLink,
  updateLink,
  type WithDestinations,
} from './schema.ts'
import {
  changeLink,
  findLink,
  findLinkDomain,
  findLinkForUpdate,
  findLinkSpace,
  insertLink,
  type LinkDomain,
  unknownDomain,
  unknownSpace,
} from './store.ts'

/** The rules of links that depend on the configuration. */
export interface LinkRules {
  readonly shortUrl: ShortUrl
  /** The schemes of destinations in addition to the standard ones. */
  readonly urlSchemes: readonly string[]
}

export interface LinkParts extends LinkRules {
  /** Hashes a password. Accounts take turns. */
  readonly hashPassword: (account: number, password: string) => Promise<string>
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onChange: (id: number, domain: number, alias: string) => void
  /** Resolves when the clicks that this process has counted are written, or the database has failed. */
  readonly flush: () => Promise<void>
  /** Deletes the rest of the account's permanently deleted records: clicks, and what the engine and other tables still store. */
  readonly erase: (account: number) => Promise<void>
}

/** A link that a batch has stored or changed; `stored` is null if it has deleted the link. */
export interface AppliedRow {
  readonly id: number
  readonly stored: Pick<Link, 'id' | 'domain_id' | 'alias'> | null
}

/** Validates and stores changes of links, for the API, the dashboard and the command line. */
export class LinkActions {
  readonly #storage: Storage
  readonly #parts: LinkParts

  constructor(storage: Storage, parts: LinkParts) {
    this.#storage = storage
    this.#parts = parts
  }

  get rules(): LinkRules {
    return this.#parts
  }

  /** See `ResourceHandlers.insertion`. Throws `validation_failed` first if fields are invalid by themselves. */
  async insertion(actor: Actor, fields: Fields): Promise<(db: Db) => Promise<Versioned<LinkRow>>> {
    const { account } = actor
    const link = await this.prepare(account, fields)
    // The domain is checked only here, because a repeated request gets its response even if the domain is gone by now.
    return async (db) => {
      const violations = await tagViolations(db, actor, link.tags)
      const { domain, values } = await checkedValues(db, account, { values: link, violations }, this.#parts.shortUrl)
      const { redirect_password } = link
      return insertLink(db, actor, domain, { ...values, redirect_password })
    }
  }

  /** Returns the fields of a new link, with the hash of its password. Throws `validation_failed` if a field is invalid by itself. */
  async prepare(account: number, fields: Fields): Promise<NewLink> {
    const reading = withScheme(storeLink.read(fields), this.rules)
    if (reading.violations.length > 0) await checkedValues(this.#storage, account, reading, this.#parts.shortUrl)
    // Outside the transaction, because hashing takes long.
    const redirect_password = await this.#hashed(account, reading.values.redirect_password ?? null)
    return { ...(reading.values as NewLink), redirect_password }
  }

  /** See `ResourceHandlers.change`. The precondition gets the version of the editable fields. Throws `alias_taken`. */
  async change(
    actor: Actor,
    id: number,
    fields: Fields,
    precondition: Precondition | null,
  ): Promise<Versioned<LinkRow>> {
    const { account } = actor
    const { values, violations } = withScheme(updateLink.read(fields), this.rules)
    // Outside the transaction, because hashing takes long.
    const redirect_password = await this.#hashed(account, violations.length > 0 ? null : values.redirect_password)
    const link = await this.#storage.write(async (tx) => {
      const before = found(await findLinkForUpdate(tx, account, id), 'link')
      precondition?.check(before.version)
      // An imported alias may break the rule of aliases.
      const isKept = readText(fields.alias).trim() === before.record.alias.trim()
      const own = isKept ? violations.filter(({ field }) => field !== 'alias') : violations
      const all = { values, violations: [...own, ...(await tagViolations(tx, actor, values.tags ?? []))] }
      const change = await validChange(tx, account, before.record, all, this.#parts.shortUrl)
      return found(await changeLink(tx, actor, before.record, { ...change, redirect_password }), 'link')
    })
    this.onStored(link.record)
    return link
  }

  /**
   * Returns the values of a change of several links, with the hash of the password. Throws `validation_failed` if a field is
   * invalid for every link.
   */
  async prepareChange(account: number, reading: Reading<LinkChange>): Promise<LinkChange> {
    const { values, violations } = withScheme(reading, this.rules)
    const all = [...violations, ...(await spaceViolations(this.#storage, account, values.space_id))]
    all.push(...conflictsIn(values))
    if (all.length > 0) throw validationFailed(all)
    const { redirect_password } = values
    return redirect_password === undefined
      ? values
      : { ...values, redirect_password: await this.#hashed(account, redirect_password) }
  }

  /** Hashes a password for the account. Returns null and undefined unchanged. */
  async #hashed<Password extends string | null | undefined>(account: number, password: Password) {
    if (typeof password !== 'string') return password
    return this.#parts.hashPassword(account, password)
  }

  /** See `ResourceHandlers.remove`. Throws `not_found`, `validation_failed` and the failure of the precondition. */
  async remove(actor: Actor, id: number, query: Fields, precondition: Precondition | null): Promise<void> {
    const find = () => findLink(this.#storage, actor.account, id)
    const { permanently } = await checkedChange(deletionQuery.check(query), find, 'link', precondition)
    // Clicks that are written later have to find the event of the deletion.
    await this.#parts.flush()
    await this.#storage.write(async (tx) => {
      if (precondition !== null) {
        precondition.check(found(await findLinkForUpdate(tx, actor.account, id), 'link').version)
      }
      const deleted = await deleteLinks(tx, actor, [id], { isPermanent: permanently, removedDomain: null })
      if (!deleted.has(id)) throw notFound('link')
    })
    this.onRemoved(id)
    if (permanently) await this.#parts.erase(actor.account)
  }

  /** Reports a deleted link to the redirect server. */
  onRemoved(id: number): void {
    this.#parts.onChange(id, 0, '')
  }

  /** Reports the applied rows of a batch to the redirect server. */
  async onApplied(rows: readonly AppliedRow[]): Promise<void> {
    const ticks = new Ticks()
    for (const { id, stored } of rows) {
      if (stored === null) this.onRemoved(id)
      else this.onStored(stored)
      await ticks.next()
    }
  }

  /** Reports a new or changed link to the redirect server. */
  onStored({ id, domain_id, alias }: Pick<Link, 'id' | 'domain_id' | 'alias'>): void {
    this.#parts.onChange(id, domain_id, alias)
  }
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

interface ValidLink {
  readonly domain: LinkDomain
  readonly values: Omit<LinkValues, 'redirect_password'> & Pick<NewLink, 'alias'>
}

/** Returns what to store, without the password, and on which domain. Throws `validation_failed` with all violations. */
export async function checkedValues(
  db: Db,
  account: number,
  { values, violations }: Reading<NewLink>,
  shortUrl: ShortUrl,
): Promise<ValidLink> {
  const all = [...violations]
  const isKnown = !violations.some(({ field }) => field === 'domain_id')
  const domain = isKnown ? await findLinkDomain(db, account, values.domain_id ?? null) : null
  const hasSpace = (await spaceViolations(db, account, values.space_id)).length === 0
  all.push(...newLinkViolations(values, { domain, hasSpace }, shortUrl))
  if (all.length > 0 || !domain) throw validationFailed(all)
  const { domain_id: _, redirect_password: __, ...rest } = values as NewLink
  return { domain, values: rest }
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
 * Returns what to change, without the password. Throws `validation_failed` with all violations. `tx` is the transaction of
 * the change, because two changes could otherwise leave a period that ends before it starts.
 */
async function validChange(
  tx: Db,
  account: number,
  old: LinkRow,
  { values, violations }: ReturnType<typeof updateLink.read>,
  shortUrl: ShortUrl,
): Promise<LinkChange> {
  const { domain_id, redirect_password: _, ...change } = values
  const all = [...violations, ...domainViolations(old, domain_id)]
  const mayLoop = change.url !== undefined || change.rules !== undefined || change.alias !== undefined
  const further = await furtherShortUrls(tx, account, mayLoop ? [old.id] : [], shortUrl)
  all.push(...(await spaceViolations(tx, account, change.space_id)))
  all.push(...changeViolations(old, change, further.get(old.id) ?? [], shortUrl))
  if (all.length > 0) throw validationFailed(all)
  return change
}

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

async function spaceViolations(db: Db, account: number, space: number | null | undefined): Promise<Violation[]> {
  if (space === undefined || space === null || (await findLinkSpace(db, account, space)) !== undefined) return []
  return [unknownSpace(space)]
}

/** Returns a violation for another domain, which could otherwise seem to be stored. The current id may be sent back. */
function domainViolations({ domain_id, domain_name }: LinkRow, sent: string | undefined): Violation[] {
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
