import type { ResourceHandlers } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import { Failure, found, notFound } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/version.ts'
import { type Space, spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, findSpace, insertSpace, listSpaces, removeSpace } from './store.ts'

/** Validates and stores changes of spaces, for the API and the dashboard. */
export class SpaceActions implements ResourceHandlers<Space> {
  readonly name = 'spaces'
  readonly operations = spaceOperations
  readonly #storage: Storage
  readonly #removals: Removals

  constructor(storage: Storage, removals: Removals) {
    this.#storage = storage
    this.#removals = removals
  }

  list(account: number, page: PageRequest): Promise<Page<Space>> {
    return listSpaces(this.#storage, account, page)
  }

  find(account: number, id: number): Promise<Versioned<Space> | undefined> {
    return findSpace(this.#storage, account, id)
  }

  /** Stores a space. Throws `validation_failed`. */
  async insert(account: number, fields: Fields): Promise<Versioned<Space>> {
    return this.insertion(account, fields)(this.#storage)
  }

  /**
   * Validates the fields, and returns a function that stores the space in a transaction of the caller. Throws
   * `validation_failed` before it returns.
   */
  insertion(account: number, fields: Fields): (db: Db) => Promise<Versioned<Space>> {
    const values = storeSpace.check(fields)
    if (values instanceof Failure) throw values
    return (db) => insertSpace(db, account, values)
  }

  /**
   * Changes the account's space. Omitted fields stay unchanged. Throws `not_found`, `validation_failed` and the failure of the
   * precondition.
   */
  async change(
    account: number,
    id: number,
    fields: Fields,
    precondition: Precondition | null,
  ): Promise<Versioned<Space>> {
    const change = updateSpace.check(fields)
    if (change instanceof Failure) {
      const { version } = found(await findSpace(this.#storage, account, id), 'space')
      precondition?.check(version)
      throw change
    }
    return found(await changeSpace(this.#storage, account, id, change, precondition), 'space')
  }

  /** Deletes the account's space, but not its links. Throws `not_found` and the failure of the precondition. */
  async remove(account: number, id: number, _query: Fields, precondition: Precondition | null): Promise<void> {
    const isGone = await removeSpace(this.#storage, account, id, precondition, (removal) => this.#removals.run(removal))
    if (!isGone) throw notFound('space')
  }
}
