import type { ResourceHandlers } from '../api/operations.ts'
import type { Storage } from '../storage/port.ts'
import type { DomainActions } from './actions.ts'
import { type Domain, domainOperations } from './schema.ts'
import { findDomain, listDomains } from './store.ts'

/** Returns the handlers of the five operations on domains. */
export function domainHandlers(storage: Storage, actions: DomainActions): ResourceHandlers<Domain> {
  return {
    name: 'domains',
    operations: domainOperations,
    list: (account, page) => listDomains(storage, account, page),
    find: (account, id) => findDomain(storage, account, id),
    insertion: (account, fields) => actions.insertion(account, fields),
    onStored: () => actions.announce(),
    change: (account, id, fields, condition) => actions.change(account, id, fields, condition),
    remove: (account, id, query, condition) => actions.remove(account, id, query, condition),
  }
}
