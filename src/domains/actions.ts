import { checkedChange, type Erase, type ResourceHandlers } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import { domainInUse, Failure, found, notFound, validationFailed } from '../errors.ts'
import { finishRemoval, type Removal } from '../events/removal.ts'
import type { Reversal } from '../events/reversal.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Storage } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type Domain, domainOperations, removeDomainQuery, storeDomain, updateDomain } from './schema.ts'
import { beginDomainRemoval, changeDomain, countLinks, domainRecords, domainReversal, insertDomain } from './store.ts'

interface DomainParts {
  readonly removals: Pick<Removals, 'run'>
  readonly removal: Removal
  readonly erase: Erase
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onChange: () => Promise<void>
}

/** The handlers of the API, and how events are reversed. */
export type DomainActions = ReturnType<typeof domainActions>

/** Returns the functions that validate and store changes of domains. */
export function domainActions(storage: Storage, { removals, removal, erase, onChange }: DomainParts) {
  const finish = async (id: number, then = async () => {}) => {
    await onChange()
    await removals.run(async (isStopped) => {
      await finishRemoval(storage, removal, id, isStopped)
      if (!isStopped()) await then()
    })
  }
  return {
    name: 'domains' as const,
    operations: domainOperations,
    list: (account, page) => domainRecords.list(storage, account, page),
    find: (account, id) => domainRecords.find(storage, account, id),
    insertion: (actor, fields) => {
      const values = storeDomain.check(fields)
      if (values instanceof Failure) throw values
      const { name, ...urls } = values
      return (db) => insertDomain(db, actor, name, urls)
    },
    onStored: onChange,
    change: async (actor, id, fields, precondition) => {
      const { values, violations } = updateDomain.read(fields)
      const { name, ...urls } = values
      if (violations.length > 0 || name !== undefined) {
        const { record, version } = found(await domainRecords.find(storage, actor.account, id), 'domain')
        precondition?.check(version)
        const all = [...violations, ...renaming(record, name)]
        if (all.length > 0) throw validationFailed(all)
      }
      const domain = found(await changeDomain(storage, actor, id, urls, precondition), 'domain')
      await onChange()
      return domain
    },
    /** Deletes the links of the domain too if the query has `links=delete`. Otherwise, they make it throw `domain_in_use`. */
    remove: async (actor, id, query, precondition) => {
      const find = () => domainRecords.find(storage, actor.account, id)
      const { links, permanently } = await checkedChange(removeDomainQuery.check(query), find, 'domain', precondition)
      const how = { precondition, takesLinks: links === 'delete', isPermanent: permanently }
      const isGone = await storage
        .write(async (tx) => {
          const isGone = await beginDomainRemoval(tx, actor, id, how)
          if (isGone === 'in use') throw domainInUse(0)
          return isGone
        })
        .catch(async (error) => {
          // The number is counted outside of the transaction, because a domain may have a million links.
          const isInUse = error instanceof Failure && error.code === 'domain_in_use'
          throw isInUse ? domainInUse(await countLinks(storage, actor.account, id)) : error
        })
      if (!isGone) throw notFound('domain')
      await finish(id, async () => (permanently ? erase(actor.account, 'domain', id) : undefined))
    },
    reversal: domainReversal(onChange, (id) => () => finish(id)) as Reversal,
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
