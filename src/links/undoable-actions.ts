import { found, validationFailed } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import { type Edit, newEdit } from '../storage/undo.ts'
import { LinkActions, type LinkParts, loopViolations } from './actions.ts'
import { removeLinkWithUndo, restoreLink } from './deleted-links.ts'
import { recordEdit, type UndoneLink, undoEdit } from './link-edits.ts'
import type { TagChange } from './link-tags.ts'
import { type LinkRow, updateLink } from './schema.ts'
import { changeLink, findLinkForUpdate, lockDomain, unknownDomain } from './store.ts'

interface UndoParts extends LinkParts {
  /** Resolves when the clicks that this process has counted are written, or the database has failed. */
  readonly flush: () => Promise<void>
}

/** A link after an edit, and the id of the edit, or null if it changed nothing. */
interface EditedLink {
  readonly link: Versioned<LinkRow>
  readonly edit: number | null
}

/** Changes links so that people can undo it for a minute, in the dashboard. */
export class UndoableLinkActions extends LinkActions {
  readonly #parts: UndoParts

  constructor(storage: Storage, parts: UndoParts) {
    super(storage, parts)
    this.#parts = parts
  }

  /**
   * Changes a link as `change` does, and its tags, as part of an edit that `undoEdit` can undo for a minute. The result's
   * `edit` is its id, or null if nothing was changed.
   */
  async changeWithUndo(
    account: number,
    id: number,
    fields: Fields,
    precondition: Precondition | null,
    edit = newEdit(),
    tags?: TagChange,
  ): Promise<EditedLink> {
    const change = await this.changer(account, updateLink.read(fields), undefined, tags)
    return this.#storeEdit(account, edit, (tx) => change(tx, id, precondition))
  }

  /**
   * Moves the account's link to its domain with this id, as part of an edit that `undoEdit` can undo for a minute. Clicks
   * follow the link. Throws `alias_taken`, and `validation_failed` if the domain is gone or the link would redirect to itself.
   */
  moveToDomainWithUndo(account: number, id: number, domainId: number, edit: Edit): Promise<EditedLink> {
    return this.#storeEdit(account, edit, async (tx) => {
      const before = found(await findLinkForUpdate(tx, account, id), 'link')
      const domain = await lockDomain(tx, account, domainId)
      if (domain === undefined) throw validationFailed([unknownDomain(domainId)])
      const { url, alias } = before.record
      const violations = loopViolations(url, this.#parts.shortUrl(domain.name, alias))
      if (violations.length > 0) throw validationFailed(violations)
      const link = found(await changeLink(tx, account, id, { domain_id: domainId, alias }), 'link')
      return { before, link }
    })
  }

  /** Changes a link in a transaction, and records that as part of the edit. */
  async #storeEdit(
    account: number,
    edit: Edit,
    change: (tx: Db) => Promise<{ readonly before: Versioned<LinkRow>; readonly link: Versioned<LinkRow> }>,
  ): Promise<EditedLink> {
    const edited = await this.storage.write(async (tx) => {
      const { before, link } = await change(tx)
      return { link, edit: await recordEdit(tx, account, edit, before, link) }
    })
    this.onStored(edited.link.record)
    return edited
  }

  /** Undoes the change of a link by the account's edit as `undoEdit` of `link-edits.ts` does. */
  async undoEdit(account: number, edit: number, id: number, now = Date.now()): Promise<UndoneLink | undefined> {
    const link = await undoEdit(this.storage, account, edit, id, now)
    if (link?.isDeleted) this.onRemoved(id)
    else if (link !== undefined) this.onStored(link.record)
    return link
  }

  /** Deletes the account's link as `remove` does, but so that `restore` can restore it for a minute. */
  async removeWithUndo(account: number, id: number, edit = newEdit()): Promise<void> {
    // Clicks that are written later find no link.
    await this.#parts.flush()
    await removeLinkWithUndo(this.storage, account, id, edit)
    this.onRemoved(id)
  }

  /** Restores the account's link as `restoreLink` does. Throws `alias_taken` if another link has the alias by now. */
  async restore(account: number, id: number, now = Date.now()): Promise<Versioned<LinkRow> | undefined> {
    const link = await restoreLink(this.storage, account, id, now)
    if (link !== undefined) this.onStored(link.record)
    return link
  }
}
