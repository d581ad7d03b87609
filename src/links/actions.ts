import type { Actor } from '../access/actor.ts'
import { checkedChange, deletionQuery } from '../api/handlers.ts'
import { affectsOthers, found, notFound, validationFailed } from '../errors.ts'
import type { Reading } from '../forms/form.ts'
import { type Fields, readText } from '../http/form-encoding.ts'
import { Batcher } from '../lib/batcher.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Db, Meter, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import type { Violation } from '../violations.ts'
import { changeLink } from './batch-changes.ts'
import { insertion, insertLink, type LinkInsertion } from './batch-insertion.ts'
import { type Outcome, succeeded } from './batch-store.ts'
import { tagViolations } from './link-tags.ts'
import { domainViolations, type LinkRules, newLinkViolations, withScheme } from './link-violations.ts'
import { conflictsIn, type Link, type LinkChange, type LinkRow, type NewLink, storeLink, updateLink } from './schema.ts'
import { findLink, findLinkDomain, findLinkForUpdate, findLinkSpace, unknownSpace } from './store.ts'

export interface LinkParts extends LinkRules {
  /** Hashes a password. Accounts take turns. */
  readonly hashPassword: (account: number, password: string) => Promise<string>
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onChange: (id: number, domain: number, alias: string) => void
  /** Resolves when the clicks that this process has counted are written, or the database has failed. */
  readonly flush: () => Promise<void>
  /** Deletes links in a transaction: see `deletion.ts`. Returns the deleted ids. */
  readonly deleteLinks: (
    tx: Db,
    actor: Actor,
    ids: readonly number[],
    how: { readonly isPermanent: boolean; readonly removedDomain: null },
  ) => Promise<ReadonlySet<number>>
  /** Deletes the rest of the account's permanently deleted records: clicks, and what the engine and other tables still store. */
  readonly erase: (account: number) => Promise<void>
}

/** A link that a batch has stored or changed; `stored` is null if it has deleted the link. */
export interface AppliedRow {
  readonly id: number
  readonly stored: Pick<Link, 'id' | 'domain_id' | 'alias'> | null
}

type LinkOfActor = LinkInsertion & { readonly actor: Actor }

/** Validates and stores changes of links, for the API, the dashboard and the command line. */
export class LinkActions {
  readonly #storage: Storage
  readonly #parts: LinkParts
  /** By account. */
  readonly #insertions = new Batcher<number, LinkOfActor, Outcome>((links) => this.#insertAll(links))
  readonly meters: readonly Meter[] = [
    { name: 'waiting_stores', help: 'Requests that wait to store a link.', value: () => this.#insertions.length },
  ]

  constructor(storage: Storage, parts: LinkParts) {
    this.#storage = storage
    this.#parts = parts
  }

  get rules(): LinkRules {
    return this.#parts
  }

  /** See `ResourceHandlers.insertion`. Throws `validation_failed` first if fields are invalid by themselves. */
  async insertion(actor: Actor, fields: Fields): Promise<(db: Db) => Promise<Versioned<LinkRow>>> {
    const link = await this.prepare(actor.account, fields)
    // The domain is checked only here, because a repeated request gets its response even if the domain is gone by now.
    return async (db) => {
      if (db !== this.#storage) return insertLink(db, actor, link, this.#parts.shortUrl)
      return succeeded(await this.#insertions.add(actor.account, { ...link, actor }))
    }
  }

  /** Stores links of one account in one transaction. */
  async #insertAll(links: readonly LinkOfActor[]): Promise<readonly (Outcome | Promise<Outcome>)[]> {
    const [{ actor }] = links as [LinkOfActor]
    try {
      return await this.#storage.write(insertion(actor, { kind: 'store', rows: links }, this.#parts.shortUrl))
    } catch (error) {
      if (links.length === 1 || affectsOthers(error)) throw error
      // One of them causes it, e.g. by waiting for an alias of another transaction. It must not fail the others, nor delay them
      // further: they don't wait for each other.
      return links.map(async (link) => (await this.#insertAll([link]))[0] as Outcome)
    }
  }

  /** Returns a new link's fields, with the hash of its password. Throws `validation_failed` if a field is invalid by itself. */
  async prepare(account: number, fields: Fields): Promise<NewLink> {
    const { values, violations } = withScheme(storeLink.read(fields), this.rules)
    if (violations.length > 0) {
      const isKnown = !violations.some(({ field }) => field === 'domain_id')
      const domain = isKnown ? await findLinkDomain(this.#storage, account, values.domain_id ?? null) : null
      const hasSpace = (await spaceViolations(this.#storage, account, values.space_id)).length === 0
      const others = newLinkViolations(values, { domain, hasSpace }, this.#parts.shortUrl)
      throw validationFailed([...violations, ...others])
    }
    // Outside the transaction, because hashing takes long.
    const redirect_password = await this.#hashed(account, values.redirect_password ?? null)
    return { ...(values as NewLink), redirect_password }
  }

  /** See `ResourceHandlers.change`. The precondition gets the version of the editable fields. Throws `alias_taken`. */
  async change(
    actor: Actor,
    id: number,
    fields: Fields,
    precondition: Precondition | null,
  ): Promise<Versioned<LinkRow>> {
    const { values, violations } = withScheme(updateLink.read(fields), this.rules)
    const { domain_id, ...change } = values
    // Outside the transaction, because hashing takes long.
    const redirect_password = await this.#hashed(actor.account, violations.length > 0 ? null : values.redirect_password)
    const link = await this.#storage.write(async (tx) => {
      const ofTags = await tagViolations(tx, actor, values.tags ?? [])
      const check = ({ record, version }: Versioned<LinkRow>): readonly Violation[] => {
        precondition?.check(version)
        // An imported alias may break the rule of aliases.
        const isKept = readText(fields.alias).trim() === record.alias.trim()
        const own = isKept ? violations.filter(({ field }) => field !== 'alias') : violations
        return [...own, ...ofTags, ...domainViolations(record, domain_id)]
      }
      return changeLink(tx, actor, id, { values: { ...change, redirect_password }, check }, this.rules)
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
      const deleted = await this.#parts.deleteLinks(tx, actor, [id], { isPermanent: permanently, removedDomain: null })
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

async function spaceViolations(db: Db, account: number, space: number | null | undefined): Promise<Violation[]> {
  if (space === undefined || space === null || (await findLinkSpace(db, account, space)) !== undefined) return []
  return [unknownSpace(space)]
}
