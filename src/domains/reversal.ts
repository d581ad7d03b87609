/** How events of domains are reversed. */
import type { Actor } from '../access/actor.ts'
import { recountRecent } from '../analytics/recent-totals.ts'
import { nameTaken, UniqueViolation } from '../errors.ts'
import type { Values } from '../events/event.ts'
import { groupReversal } from '../events/group-reversal.ts'
import { recordEvents } from '../events/log.ts'
import { LoggedRecords } from '../events/records.ts'
import type { FinishRemoval } from '../events/removal.ts'
import type { Effect, Reversal } from '../events/reversal.ts'
import { keptQrStyle, qrStyleEvent, restoreQrStyle } from '../qr/store.ts'
import type { StoredQrStyle } from '../qr/style.ts'
import type { Db } from '../storage/port.ts'
import { clickLevels, type Row } from '../storage/schema.ts'
import type { Domain } from './schema.ts'
import { domainEvents, domainRecords, freed, type Settings } from './store.ts'

/** Changes, removes and restores domains together with their events. */
export const loggedDomains = new LoggedRecords<Domain>(domainRecords, {
  ...domainEvents,
  freed,
  keep: async (tx, account, id) => ({ qr_style: await keptQrStyle(tx, account, id) }),
})

/** What the event of a deleted domain keeps. */
interface KeptDomain {
  readonly row: Row<'domains'>
  readonly qr_style: StoredQrStyle | null
}

/** Returns the functions that reverse events of domains. `effect` informs the redirect server. */
export function domainReversal(effect: Effect, finish: FinishRemoval): Reversal {
  return {
    ...groupReversal<Domain, KeptDomain>({ records: loggedDomains, change, restore, finish, effect }),
    valuesOf: async (tx, account, ids) => {
      const found = await loggedDomains.lockedValues(tx, account, ids)
      for (const [id, values] of found) found.set(id, { ...values, qr_style: await keptQrStyle(tx, account, id) })
      return found
    },
  }
}

async function change(tx: Db, actor: Actor, id: number, values: Values): Promise<void> {
  const { qr_style, ...settings } = values as Partial<Settings> & Partial<Pick<KeptDomain, 'qr_style'>>
  if (qr_style !== undefined) await changeQrStyle(tx, actor, id, qr_style)
  await loggedDomains.change(tx, actor, id, settings, null)
}

async function restore(tx: Db, actor: Actor, { row, qr_style }: KeptDomain): Promise<void> {
  const { id } = row
  try {
    // With the style, so that the restoration can be undone, too.
    await loggedDomains.restore(tx, actor, row, qrStyleEvent(row, null, qr_style))
  } catch (error) {
    throw error instanceof UniqueViolation ? nameTaken(row.name) : error
  }
  if (qr_style !== null) await restoreQrStyle(tx, actor.account, id, qr_style)
  await recountRecent(tx, actor.account, clickLevels.domain, [id])
}

async function changeQrStyle(tx: Db, actor: Actor, id: number, style: StoredQrStyle | null): Promise<void> {
  const { account } = actor
  const domain = (await domainRecords.find(tx, account, id))?.record
  const before = await keptQrStyle(tx, account, id)
  await restoreQrStyle(tx, account, id, style)
  await recordEvents(tx, actor, [domain === undefined ? null : qrStyleEvent(domain, before, style)])
}
