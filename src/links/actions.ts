/**
 * What can be done to links, for the API and the dashboard alike: fields in, checked and written, and told to those who serve
 * visitors.
 */
import { found, notFound } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { foldCase } from '../lib/fold-case.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/version.ts'
import { checkedChange, checkedValues, hashed } from './checks.ts'
import { removeLinkForNow, restoreLink } from './deleted-links.ts'
import { storeLink, updateLink } from './schema.ts'
import type { LinkRow } from './store.ts'
import { changeLink, findLinkForUpdate, insertLink, removeLink } from './store.ts'

export interface LinkParts {
  readonly shortUrl: ShortUrl
  /** Hears of each change before its answer leaves, so that visitors of this process see it at once. */
  readonly onChange: (id: number, domain: number, aliasFolded: string) => void
  /** Resolves once the clicks that this process has counted are written, or the database has failed. */
  readonly flush: () => Promise<void>
}

export class LinkActions {
  readonly #storage: Storage
  readonly #parts: LinkParts

  constructor(storage: Storage, parts: LinkParts) {
    this.#storage = storage
    this.#parts = parts
  }

  /** Stores a link of these fields. Throws `validation_failed` with all that is wrong, and `alias_taken`. */
  async insert(account: number, fields: Fields): Promise<Versioned<LinkRow>> {
    const insert = await this.insertion(account, fields)
    const link = await insert(this.#storage)
    this.announce(link.record)
    return link
  }

  /**
   * The insertion of a link of these fields, for a transaction of the caller's, who then announces the link. The password is
   * hashed before, since that takes long. Throws `validation_failed` if the fields do not hold; the insertion throws as
   * `insert` does.
   */
  async insertion(account: number, fields: Fields): Promise<(db: Db) => Promise<Versioned<LinkRow>>> {
    const { shortUrl } = this.#parts
    const reading = storeLink.read(fields)
    if (reading.violations.length > 0) await checkedValues(this.#storage, account, reading, shortUrl)
    const redirect_password = await hashed(account, reading.values.redirect_password ?? null)
    // A repeated request gets its answer even if the domain is gone by now, so this is looked up only here.
    return async (db) => {
      const { domain, values } = await checkedValues(db, account, reading, shortUrl)
      return insertLink(db, account, domain, { ...values, redirect_password })
    }
  }

  /**
   * Changes the account's link; fields that were not sent stay as they are. Throws `not_found`, what the precondition throws
   * at the version of what can be edited, `validation_failed` with all that is wrong, and `alias_taken`.
   */
  async change(
    account: number,
    id: number,
    fields: Fields,
    precondition: Precondition | null,
  ): Promise<Versioned<LinkRow>> {
    const reading = updateLink.read(fields)
    const password = reading.violations.length > 0 ? null : reading.values.redirect_password
    const redirect_password = await hashed(account, password)
    const link = await this.#storage.write(async (tx) => {
      const old = found(await findLinkForUpdate(tx, account, id), 'link')
      precondition?.check(old.version)
      const change = await checkedChange(tx, account, old.record, reading, this.#parts.shortUrl)
      return found(await changeLink(tx, account, id, { ...change, redirect_password }, null), 'link')
    })
    this.announce(link.record)
    return link
  }

  /** Deletes the account's link. Throws `not_found`, and what the precondition throws. */
  async remove(account: number, id: number, precondition: Precondition | null): Promise<void> {
    if (!(await removeLink(this.#storage, account, id, precondition))) throw notFound('link')
    this.#parts.onChange(id, 0, '')
  }

  /** Deletes the account's link as `remove` does, but so that `restore` can bring it back for a minute. */
  async removeForNow(account: number, id: number, precondition: Precondition | null): Promise<void> {
    // Clicks that are written later find no link.
    await this.#parts.flush()
    await removeLinkForNow(this.#storage, account, id, precondition, Date.now())
    this.#parts.onChange(id, 0, '')
  }

  /**
   * Brings back the account's link with its id, its history and its clicks; without its space if that is gone. Undefined if it
   * was deleted more than a minute ago, or not by `removeForNow`, or if its domain is gone. A link that is back already is
   * returned again. Throws `alias_taken` if another link has the alias by now.
   */
  async restore(account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
    const link = await restoreLink(this.#storage, account, id, Date.now())
    if (link !== undefined) this.announce(link.record)
    return link
  }

  /** Tells those who serve visitors that the link is new or has changed. */
  announce({ id, domain_id, alias }: Pick<LinkRow, 'id' | 'domain_id' | 'alias'>): void {
    this.#parts.onChange(id, domain_id, foldCase(alias))
  }
}
