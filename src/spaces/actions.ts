import { checkedChange, deletionQuery, type Erase, type ResourceHandlers } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import { Failure, found, notFound } from '../errors.ts'
import { finishRemoval, type Removal } from '../events/removal.ts'
import type { Storage } from '../storage/port.ts'
import { type Space, spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { beginSpaceRemoval, changeSpace, insertSpace, spaceRecords, spaceReversal } from './store.ts'

interface SpaceParts {
  readonly removals: Pick<Removals, 'run'>
  readonly removal: Removal
  readonly erase: Erase
}

/** Returns the functions that validate and store changes of spaces, for the API and the dashboard. */
export function spaceActions(storage: Storage, { removals, removal, erase }: SpaceParts) {
  const finish = (id: number, then = async () => {}) =>
    removals.run(async (isStopped) => {
      await finishRemoval(storage, removal, id, isStopped)
      if (!isStopped()) await then()
    })
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
      if (!(await storage.write((tx) => beginSpaceRemoval(tx, actor, id, how)))) throw notFound('space')
      await finish(id, async () => (permanently ? erase(actor.account, 'space', id) : undefined))
    },
    reversal: spaceReversal((id) => finish(id)),
  } satisfies ResourceHandlers<Space> & Readonly<Record<string, unknown>>
}
