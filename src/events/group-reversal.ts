/** How events of domains, spaces and tags are reversed. */

import type { Actor } from '../access/actor.ts'
import type { Db } from '../storage/port.ts'
import type { Times } from '../storage/records.ts'
import type { Values } from './event.ts'
import type { LoggedRecords } from './records.ts'
import type { FinishRemoval } from './removal.ts'
import { type Effect, inTurn, type Reversal } from './reversal.ts'

interface GroupParts<Shown extends Times & { readonly id: number }, Kept> {
  readonly records: LoggedRecords<Shown>
  /** Sets fields to previous values. */
  readonly change: (tx: Db, actor: Actor, id: number, values: Values) => Promise<unknown>
  /** Stores a deleted record again, from what its event has kept. */
  readonly restore: (tx: Db, actor: Actor, kept: Kept) => Promise<unknown>
  readonly finish: FinishRemoval
  /** What happens after a change or a restoration. */
  readonly effect?: Effect
}

/** Returns how events of domains, spaces or tags are reversed. */
export function groupReversal<Shown extends Times & { readonly id: number }, Kept>({
  records,
  change,
  restore,
  finish,
  effect = () => undefined,
}: GroupParts<Shown, Kept>): Reversal {
  return {
    valuesOf: (tx, account, ids) => records.lockedValues(tx, account, ids),
    change: async (tx, actor, id, values) => {
      await change(tx, actor, id, values)
      return effect
    },
    remove: (tx, actor, ids) =>
      inTurn(ids, async (id) => {
        await records.beginRemoval(tx, actor, id, { precondition: null, isPermanent: false })
        return () => finish(actor, id, false)
      }),
    restore: (tx, actor, all) =>
      inTurn(all as readonly Kept[], async (kept) => {
        await restore(tx, actor, kept)
        return effect
      }),
  }
}
