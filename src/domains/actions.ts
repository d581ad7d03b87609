import type { ResourceHandlers } from '../api/handlers.ts'
import { checkedChange } from '../api/handlers.ts'
import { domainInUse, Failure, found, notFound, validationFailed } from '../errors.ts'
import { type FinishRemoval, hasLinks } from '../events/removal.ts'
import type { Reversal } from '../events/reversal.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Storage } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { domainWarnings } from './domain-warnings.ts'
import { removeDomainQuery } from './operations.ts'
import { domainReversal, loggedDomains } from './reversal.ts'
import { type Domain, storeDomain, updateDomain } from './schema.ts'
import { countAddresses, domainRecords, insertDomain } from './store.ts'

/** Called after each commit and before the response, so that this process redirects correctly straight away. */
export interface DomainEffects {
  /** Gets a stored or changed domain. */
  readonly onStored: (domain: Domain) => void
  /** Called after a removal or an undo. */
  readonly refresh: () => Promise<void>
}

/** Returns the functions that validate and store changes of domains. */
export function domainActions(storage: Storage, finishRemoval: FinishRemoval, effects: DomainEffects) {
  const finish: FinishRemoval = async (...removed) => {
    await effects.refresh()
    await finishRemoval(...removed)
  }
  return {
    name: 'domains' as const,
    list: (account, page) => domainRecords.list(storage, account, page),
    find: (account, id) => domainRecords.find(storage, account, id),
    insertion: (actor, fields) => {
      const values = storeDomain.check(fields)
      if (values instanceof Failure) throw values
      const { name, ...settings } = values
      return (db) => insertDomain(db, actor, name, settings)
    },
    warnings: async (_db, _account, domain) => domainWarnings(domain),
    onStored: effects.onStored,
    change: async (actor, id, fields, precondition) => {
      const { values, violations } = updateDomain.read(fields)
      const { name, ...settings } = values
      if (violations.length > 0 || name !== undefined) {
        const { record, version } = found(await domainRecords.find(storage, actor.account, id), 'domain')
        precondition?.check(version)
        const all = [...violations, ...renaming(record, name)]
        if (all.length > 0) throw validationFailed(all)
      }
      const domain = found(await loggedDomains.change(storage, actor, id, settings, precondition), 'domain')
      effects.onStored(domain.record)
      return domain
    },
    /** Deletes the links and further addresses of the domain too if the query has `links=delete`. Otherwise, they make it throw `domain_in_use`. */
    remove: async (actor, id, query, precondition) => {
      const find = () => domainRecords.find(storage, actor.account, id)
      const { links, permanently } = await checkedChange(removeDomainQuery.check(query), find, 'domain', precondition)
      const how = { precondition, isPermanent: permanently }
      const isGone = await storage
        .write(async (tx) => {
          const isGone = await loggedDomains.beginRemoval(tx, actor, id, how)
          // The lock on the domain keeps new links away, so this is the last moment to look for them.
          if (isGone && links !== 'delete' && (await hasLinks(tx, 'domain', id))) throw domainInUse(0)
          return isGone
        })
        .catch(async (error) => {
          // The number is counted outside of the transaction, because a domain may have a million links.
          const isInUse = error instanceof Failure && error.code === 'domain_in_use'
          if (!isInUse) throw error
          const { links, further } = await countAddresses(storage, actor.account, id)
          throw domainInUse(links, further)
        })
      if (!isGone) throw notFound('domain')
      await finish(actor, id, permanently)
    },
    reversal: domainReversal(effects.refresh, finish) as Reversal,
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
