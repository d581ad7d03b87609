/** How events of tags are reversed. */
import type { FinishRemoval } from '../events/removal.ts'
import { inTurn, type Reversal } from '../events/reversal.ts'
import { foldCase } from '../lib/text.ts'
import type { Row } from '../storage/schema.ts'
import { beginTagRemoval, changeTag, loggedTags, throwTaken } from './store.ts'

/** Returns the functions that reverse events of tags. */
export function tagReversal(finish: FinishRemoval): Reversal {
  return {
    valuesOf: (tx, account, ids) => loggedTags.lockedValues(tx, account, ids),
    change: async (tx, actor, id, values) => {
      await changeTag(tx, actor, id, values, null)
      return () => undefined
    },
    remove: (tx, actor, ids) =>
      inTurn(ids, async (id) => {
        await beginTagRemoval(tx, actor, id, { precondition: null, isPermanent: false })
        return () => finish(actor, id, false)
      }),
    restore: (tx, actor, kept) =>
      inTurn(kept as readonly { readonly row: Row<'tags'> }[], async ({ row }) => {
        // Another version may have folded it.
        const folded = { ...row, name_folded: foldCase(row.name) } as Row<'tags'>
        await loggedTags.restore(tx, actor, folded).catch(throwTaken(row.name))
        return () => undefined
      }),
  }
}
