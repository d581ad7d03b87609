import { checkedChange, type ResourceHandlers } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import { Failure, found, notFound } from '../errors.ts'
import type { Storage } from '../storage/port.ts'
import { type Space, spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, insertSpace, removeSpace, spaceRecords } from './store.ts'

/** Returns the functions that validate and store changes of spaces, for the API and the dashboard. */
export function spaceActions(storage: Storage, removals: Pick<Removals, 'run'>): ResourceHandlers<Space> {
  return {
    name: 'spaces',
    operations: spaceOperations,
    list: (account, page) => spaceRecords.list(storage, account, page),
    find: (account, id) => spaceRecords.find(storage, account, id),
    insertion: ({ account }, fields) => {
      const values = storeSpace.check(fields)
      if (values instanceof Failure) throw values
      return (db) => insertSpace(db, account, values)
    },
    change: async ({ account }, id, fields, precondition) => {
      const find = () => spaceRecords.find(storage, account, id)
      const change = await checkedChange(updateSpace.check(fields), find, 'space', precondition)
      return found(await changeSpace(storage, account, id, change, precondition), 'space')
    },
    /** The links of the space stay. */
    remove: async ({ account }, id, _query, precondition) => {
      const isGone = await removeSpace(storage, account, id, precondition, (removal) => removals.run(removal))
      if (!isGone) throw notFound('space')
    },
  }
}
