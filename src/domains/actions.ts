/**
 * What can be done to domains, for the API and the dashboard alike: fields in, checked and written, and told to those who
 * serve visitors.
 */
import type { Removals } from '../api/removals.ts'
import { Failure, found, notFound, Refusal, type Violation, validationFailed } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/version.ts'
import { type Domain, removeDomainQuery, storeDomain, updateDomain } from './schema.ts'
import {
  beginDomainRemoval,
  changeDomain,
  findDomain,
  finishDomainRemoval,
  insertDomain,
  removeDomain,
} from './store.ts'

export interface DomainParts {
  readonly removals: Removals
  /** Hears of each change before its answer leaves, so that visitors of this process see it at once. */
  readonly onChange: () => Promise<void>
}

export class DomainActions {
  readonly #storage: Storage
  readonly #parts: DomainParts

  constructor(storage: Storage, parts: DomainParts) {
    this.#storage = storage
    this.#parts = parts
  }

  /** Stores a domain of these fields. Throws `validation_failed` with all that is wrong, and `name_taken`. */
  async insert(account: number, fields: Fields): Promise<Versioned<Domain>> {
    const domain = await this.insertion(account, fields)(this.#storage)
    await this.announce()
    return domain
  }

  /** The insertion for a transaction of the caller's, who then announces it. Throws `validation_failed` at once. */
  insertion(account: number, fields: Fields): (db: Db) => Promise<Versioned<Domain>> {
    const values = storeDomain.check(fields)
    if (values instanceof Failure) throw values
    const { name, ...urls } = values
    return (db) => insertDomain(db, account, name, urls)
  }

  /**
   * Changes where the account's domain leads; fields that were not sent stay as they are. Throws `not_found`, what the
   * precondition throws, and `validation_failed` with all that is wrong.
   */
  async change(
    account: number,
    id: number,
    fields: Fields,
    precondition: Precondition | null,
  ): Promise<Versioned<Domain>> {
    const { values, violations } = updateDomain.read(fields)
    if (violations.length > 0 || values.name !== undefined) {
      const { record, version } = found(await findDomain(this.#storage, account, id), 'domain')
      precondition?.check(version)
      const all = [...violations, ...renaming(record, values.name)]
      if (all.length > 0) throw validationFailed(all)
    }
    const domain = found(await changeDomain(this.#storage, account, id, values, precondition), 'domain')
    await this.announce()
    return domain
  }

  /**
   * Deletes the account's domain; with `links=delete` in the query, its links with it. Throws `not_found`, what the
   * precondition throws, `validation_failed`, and `domain_in_use` if it has links that are to stay.
   */
  async remove(account: number, id: number, query: Fields, precondition: Precondition | null): Promise<void> {
    const checked = removeDomainQuery.check(query)
    if (checked instanceof Failure) {
      const { version } = found(await findDomain(this.#storage, account, id), 'domain')
      precondition?.check(version)
      throw checked
    }
    const takesLinks = checked.links === 'delete'
    const remove = takesLinks ? beginDomainRemoval : removeDomain
    if (!(await remove(this.#storage, account, id, precondition))) throw notFound('domain')
    await this.announce()
    if (takesLinks) {
      await this.#parts.removals.run((isStopped) => finishDomainRemoval(this.#storage, id, isStopped))
    }
  }

  /** Tells those who serve visitors that domains have changed. */
  announce(): Promise<void> {
    return this.#parts.onChange()
  }
}

/** A name that is sent back is no rename; any other would look like one that worked. */
function renaming(domain: Domain, sent: string | undefined): Violation[] {
  // A record that was stored under older rules may be sent back as well.
  if (sent === undefined || sent === domain.name || sent === domain.name_unicode) return []
  const name = parseHostName(sent)
  if (!(name instanceof Refusal) && name.name === domain.name) return []
  const message = `The name field cannot be changed: it stays ${domain.name}. Store another domain instead.`
  return [{ field: 'name', code: 'prohibited', message }]
}
