import type { ResourceHandlers } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import { Failure, found, notFound, Refusal, type Violation, validationFailed } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { finishRemoval } from '../storage/removal.ts'
import type { Precondition, Versioned } from '../storage/version.ts'
import { type Domain, domainOperations, removeDomainQuery, storeDomain, updateDomain } from './schema.ts'
import {
  beginDomainRemoval,
  changeDomain,
  domainRemoval,
  findDomain,
  insertDomain,
  listDomains,
  removeDomain,
} from './store.ts'

export interface DomainParts {
  readonly removals: Removals
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onChange: () => Promise<void>
}

/** Validates and stores changes of domains, for the API and the dashboard. */
export class DomainActions implements ResourceHandlers<Domain> {
  readonly name = 'domains'
  readonly operations = domainOperations
  readonly #storage: Storage
  readonly #parts: DomainParts

  constructor(storage: Storage, parts: DomainParts) {
    this.#storage = storage
    this.#parts = parts
  }

  list(account: number, page: PageRequest): Promise<Page<Domain>> {
    return listDomains(this.#storage, account, page)
  }

  find(account: number, id: number): Promise<Versioned<Domain> | undefined> {
    return findDomain(this.#storage, account, id)
  }

  /** Stores a domain. Throws `validation_failed` and `name_taken`. */
  async insert(account: number, fields: Fields): Promise<Versioned<Domain>> {
    const domain = await this.insertion(account, fields)(this.#storage)
    await this.#parts.onChange()
    return domain
  }

  /**
   * Validates the fields, and returns a function that stores the domain in a transaction of the caller. The caller must call
   * `onStored` after the commit. Throws `validation_failed` before it returns.
   */
  insertion(account: number, fields: Fields): (db: Db) => Promise<Versioned<Domain>> {
    const values = storeDomain.check(fields)
    if (values instanceof Failure) throw values
    const { name, ...urls } = values
    return (db) => insertDomain(db, account, name, urls)
  }

  /**
   * Changes the URLs of the account's domain. Omitted fields stay unchanged. Throws `not_found`, `validation_failed` and the
   * failure of the precondition.
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
    await this.#parts.onChange()
    return domain
  }

  /**
   * Deletes the account's domain, and its links if the query has `links=delete`. Throws `not_found`, `validation_failed`,
   * `domain_in_use` and the failure of the precondition.
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
    await this.#parts.onChange()
    if (takesLinks) {
      await this.#parts.removals.run((isStopped) => finishRemoval(this.#storage, domainRemoval, id, isStopped))
    }
  }

  /** Reports a new domain to the redirect server. */
  onStored(): Promise<void> {
    return this.#parts.onChange()
  }
}

/** Returns a violation for a new name, which could otherwise seem to be stored. The current name may be sent back. */
function renaming(domain: Domain, sent: string | undefined): Violation[] {
  // The name may be invalid under the current rules.
  if (sent === undefined || sent === domain.name || sent === domain.name_unicode) return []
  const name = parseHostName(sent)
  if (!(name instanceof Refusal) && name.name === domain.name) return []
  const message = `The name field cannot be changed: it stays ${domain.name}. Store another domain instead.`
  return [{ field: 'name', code: 'prohibited', message }]
}
