import type { Actor } from '../access/actor.ts'
import { recountRecent } from '../analytics/recent-totals.ts'
import type { ResourceHandlers } from '../api/handlers.ts'
import { checkedChange, deletionQuery } from '../api/handlers.ts'
import { Failure, found, notFound } from '../errors.ts'
import { groupReversal } from '../events/group-reversal.ts'
import type { FinishRemoval } from '../events/removal.ts'
import { foldCase } from '../lib/text.ts'
import { textWarnings } from '../names/suspicious-values.ts'
import type { Db, Storage } from '../storage/port.ts'
import { clickLevels, type Row } from '../storage/schema.ts'
import { type Space, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, insertSpace, loggedSpaces, rememberOrigin, spaceRecords } from './store.ts'

/** Returns the functions that validate and store changes of spaces, for the API and the dashboard. */
export function spaceActions(storage: Storage, finish: FinishRemoval) {
  return {
    name: 'spaces' as const,
    list: (account, page) => spaceRecords.list(storage, account, page),
    find: (account, id) => spaceRecords.find(storage, account, id),
    insertion: (actor, fields) => {
      const values = storeSpace.check(fields)
      if (values instanceof Failure) throw values
      return (db) => insertSpace(db, actor, values)
    },
    warnings: (_db, _account, { name }) => textWarnings('name', name),
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
    reversal: groupReversal<Space, KeptSpace>({
      records: loggedSpaces,
      change: (tx, actor, id, values) => changeSpace(tx, actor, id, values, null),
      restore: restoreSpace,
      finish,
    }),
  } satisfies ResourceHandlers<Space> & Readonly<Record<string, unknown>>
}

/** What the event of a deleted space keeps. */
interface KeptSpace {
  readonly row: Row<'spaces'>
  readonly origins: readonly Pick<Row<'space_origins'>, 'source' | 'source_id'>[]
}

async function restoreSpace(tx: Db, actor: Actor, { row, origins }: KeptSpace): Promise<void> {
  const { id } = row
  // Another version may have folded it.
  await loggedSpaces.restore(tx, actor, { ...row, name_folded: foldCase(row.name) } as Row<'spaces'>)
  for (const { source, source_id } of origins) await rememberOrigin(tx, actor.account, id, { source, id: source_id })
  await recountRecent(tx, actor.account, clickLevels.space, [id])
}
