import { checkedChange, deletionQuery, type ResourceHandlers } from '../api/operations.ts'
import { Failure, found, notFound } from '../errors.ts'
import type { FinishRemoval } from '../events/removal.ts'
import type { Storage } from '../storage/port.ts'
import { spaceReversal } from './reversal.ts'
import { type Space, spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, insertSpace, loggedSpaces, spaceRecords } from './store.ts'

/** Returns the functions that validate and store changes of spaces, for the API and the dashboard. */
export function spaceActions(storage: Storage, finish: FinishRemoval) {
  return {
    name: 'spaces' as const,
    operations: spaceOperations,
    list: (account, page) => spaceRecords.list(storage, account, page),
    find: (account, id) => spaceRecords.find(storage, account, id),
    insertion: (actor, fields) => {
      const values = storeSpace.check(fields)
      if (values instanceof Failure) throw values
      return (db) => insertSpace(db, actor, values)
    },
    change: async (actor, id, fields, precondition) => {
      const find = () => spaceRecords.find(storage, actor.account, id)
      const change = await checkedChange(updateSpace.check(fields), find, 'space', precondition)
      return found(await changeSpace(storage, actor, id, change, precondition), 'space')
    },
    /** The links of the space stay. */
    remove: async (actor, id, query, precondition) => {
      const find = () => spaceRecords.find(storage, actor.account, id)
      const { permanently } = await checkedChange(deletionQuery.check(query), find, 'space', precondition)
      const how = { precondition, isPermanent: permanently }
      if (!(await storage.write((tx) => loggedSpaces.beginRemoval(tx, actor, id, how)))) throw notFound('space')
      await finish(actor, id, permanently)
    },
    reversal: spaceReversal(finish),
  } satisfies ResourceHandlers<Space> & Readonly<Record<string, unknown>>
}
