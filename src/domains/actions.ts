import { checkedChange, type ResourceHandlers } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import { Failure, found, notFound, validationFailed } from '../errors.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Storage } from '../storage/port.ts'
import { finishRemoval } from '../storage/removal.ts'
import { Refusal, type Violation } from '../violations.ts'
import { removeDomainWithUndo, restoreDomain } from './deleted-domains.ts'
import { type Domain, domainOperations, removeDomainQuery, storeDomain, updateDomain } from './schema.ts'
import { beginDomainRemoval, domainRecords, domainRemoval, insertDomain, removeDomain } from './store.ts'

interface DomainParts {
  readonly removals: Pick<Removals, 'run'>
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onChange: () => Promise<void>
}

/** The handlers of the API, and deletion in the dashboard. */
export type DomainActions = ReturnType<typeof domainActions>

/** Returns the functions that validate and store changes of domains, for the API and the dashboard. */
export function domainActions(storage: Storage, { removals, onChange }: DomainParts) {
  return {
    name: 'domains' as const,
    operations: domainOperations,
    list: (account, page) => domainRecords.list(storage, account, page),
    find: (account, id) => domainRecords.find(storage, account, id),
    insertion: ({ account }, fields) => {
      const values = storeDomain.check(fields)
      if (values instanceof Failure) throw values
      const { name, ...urls } = values
      return (db) => insertDomain(db, account, name, urls)
    },
    onStored: onChange,
    change: async ({ account }, id, fields, precondition) => {
      const { values, violations } = updateDomain.read(fields)
      const { name, ...urls } = values
      if (violations.length > 0 || name !== undefined) {
        const { record, version } = found(await domainRecords.find(storage, account, id), 'domain')
        precondition?.check(version)
        const all = [...violations, ...renaming(record, name)]
        if (all.length > 0) throw validationFailed(all)
      }
      const domain = found(await domainRecords.change(storage, account, id, urls, precondition), 'domain')
      await onChange()
      return domain
    },
    /** Deletes the links of the domain too if the query has `links=delete`. Otherwise, they make it throw `domain_in_use`. */
    remove: async ({ account }, id, query, precondition) => {
      const find = () => domainRecords.find(storage, account, id)
      const { links } = await checkedChange(removeDomainQuery.check(query), find, 'domain', precondition)
      const takesLinks = links === 'delete'
      const remove = takesLinks ? beginDomainRemoval : removeDomain
      if (!(await remove(storage, account, id, precondition))) throw notFound('domain')
      await onChange()
      if (takesLinks) await removals.run((isStopped) => finishRemoval(storage, domainRemoval, id, isStopped))
    },
    /** Deletes the account's domain and its links, but so that `restore` can restore them for a minute. Throws `not_found`. */
    removeWithUndo: async (account: number, id: number) => {
      if (!(await removeDomainWithUndo(storage, account, id, Date.now()))) throw notFound('domain')
      await onChange()
    },
    /** Restores the account's domain as `restoreDomain` does. Throws `name_taken`. */
    restore: async (account: number, id: number) => {
      const domain = await restoreDomain(storage, account, id, Date.now())
      if (domain !== undefined) await onChange()
      return domain
    },
  } satisfies ResourceHandlers<Domain> & Readonly<Record<string, unknown>>
}

/** Returns a violation for a new name, which could otherwise seem to be stored. The current name may be sent back. */
function renaming(domain: Domain, sent: string | undefined): Violation[] {
  // The name may be invalid under the current rules.
  if (sent === undefined || sent === domain.name || sent === domain.name_unicode) return []
  const name = parseHostName(sent)
  if (!(name instanceof Refusal) && name.name === domain.name) return []
  return [new Refusal('prohibited', { current: domain.name, record: 'domain' }).at('name')]
}
