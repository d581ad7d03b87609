import type { ResourceHandlers } from '../api/operations.ts'
import type { Storage } from '../storage/port.ts'
import type { SpaceActions } from './actions.ts'
import { type Space, spaceOperations } from './schema.ts'
import { findSpace, listSpaces } from './store.ts'

/** Returns the handlers of the five operations on spaces. */
export function spaceHandlers(storage: Storage, actions: SpaceActions): ResourceHandlers<Space> {
  return {
    name: 'spaces',
    operations: spaceOperations,
    list: (account, page) => listSpaces(storage, account, page),
    find: (account, id) => findSpace(storage, account, id),
    insertion: (account, fields) => actions.insertion(account, fields),
    change: (account, id, fields, condition) => actions.change(account, id, fields, condition),
    remove: (account, id, _query, condition) => actions.remove(account, id, condition),
  }
}
