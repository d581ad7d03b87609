/** How events of spaces are reversed. */
import { recountRecent } from '../analytics/recent.ts'
import type { FinishRemoval } from '../events/removal.ts'
import { inTurn, type Reversal } from '../events/reversal.ts'
import { foldCase } from '../lib/text.ts'
import { clickLevels, type Row } from '../storage/schema.ts'
import { changeSpace, loggedSpaces, rememberOrigin } from './store.ts'

/** What the event of a deleted space keeps. */
interface KeptSpace {
  readonly row: Row<'spaces'>
  readonly origins: readonly Pick<Row<'space_origins'>, 'source' | 'source_id'>[]
}

/** Returns the functions that reverse events of spaces. */
export function spaceReversal(finish: FinishRemoval): Reversal {
  return {
    valuesOf: (tx, account, ids) => loggedSpaces.lockedValues(tx, account, ids),
    change: async (tx, actor, id, values) => {
      await changeSpace(tx, actor, id, values, null)
      return () => undefined
    },
    remove: (tx, actor, ids) =>
      inTurn(ids, async (id) => {
        await loggedSpaces.beginRemoval(tx, actor, id, { precondition: null, isPermanent: false })
        return () => finish(actor, id, false)
      }),
    restore: (tx, actor, kept) =>
      inTurn(kept as readonly KeptSpace[], async ({ row, origins }) => {
        const { id } = row
        // Another version may have folded it.
        await loggedSpaces.restore(tx, actor, { ...row, name_folded: foldCase(row.name) } as Row<'spaces'>)
        for (const { source, source_id } of origins) {
          await rememberOrigin(tx, actor.account, id, { source, id: source_id })
        }
        await recountRecent(tx, actor.account, clickLevels.space, [id])
        return () => undefined
      }),
  }
}
