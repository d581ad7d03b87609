import type { Actor } from '../access/actor.ts'
import { isSame, type NewEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { Db } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'
import { plainStyle, type QrStyle, type StoredQrStyle, storedStyle } from './style.ts'

const columns = ['domain_id', 'dark', 'background', 'margin', 'logo'] as const

/** Finds the style of the account's domain; undefined for the plain style. */
export async function findQrStyle(db: Db, account: number, domain: number): Promise<QrStyle | undefined> {
  return (await readQrStyles(db, account, [domain])).get(domain)
}

/** Returns the styles of the account's domains by id. Domains with the plain style are missing. */
export async function readQrStyles(
  db: Db,
  account: number,
  domains: readonly number[],
): Promise<ReadonlyMap<number, QrStyle>> {
  const rows = await db.execute(
    query.selectFrom('qr_styles').select(columns).where('account_id', '=', account).where('domain_id', 'in', domains),
  )
  return new Map(
    rows.map(({ domain_id, logo, ...style }) => [domain_id, { ...style, logo: logo && Buffer.from(logo) }]),
  )
}

/** A style; without a logo, the stored logo stays. */
export type QrStyleChange = Omit<QrStyle, 'logo'> & Partial<Pick<QrStyle, 'logo'>>

/** Stores the style of a domain of the actor's account. Returns false if the account has no such domain. */
export function storeQrStyle(db: Db, actor: Actor, domain: number, change: QrStyleChange): Promise<boolean> {
  return changeStyle(db, actor, domain, (before) => ({ ...(before ?? plainStyle), ...change }))
}

/** Makes the codes of a domain of the actor's account plain again. */
export async function removeQrStyle(db: Db, actor: Actor, domain: number): Promise<void> {
  await changeStyle(db, actor, domain, () => plainStyle)
}

function changeStyle(
  db: Db,
  actor: Actor,
  id: number,
  changed: (before: QrStyle | undefined) => QrStyle,
): Promise<boolean> {
  const { account } = actor
  return db.write(async (tx) => {
    const own = query.selectFrom('domains').select(['id', 'name']).where('id', '=', id)
    // The lock keeps the domain from being deleted at the same time.
    const [domain] = await tx.execute(own.where('account_id', '=', account).forUpdate())
    if (domain === undefined) return false
    const before = await findQrStyle(tx, account, id)
    const after = changed(before)
    const style = isSame(after, plainStyle) ? null : after
    const event = qrStyleEvent(domain, before ? storedStyle(before) : null, style && storedStyle(style))
    if (event === null) return true
    await setStyle(tx, account, id, style)
    await recordEvents(tx, actor, [event])
    return true
  })
}

/** Returns the event of a domain whose style changes; null if it stays. Both styles are kept, with their logos. */
export function qrStyleEvent(
  domain: Pick<Row<'domains'>, 'id' | 'name'>,
  before: StoredQrStyle | null,
  after: StoredQrStyle | null,
): NewEvent | null {
  if (isSame(before, after)) return null
  const shown = (style: StoredQrStyle | null) => style && { ...style, logo: style.logo !== null }
  return {
    ...{ record: 'domain', action: 'updated', id: domain.id, name: domain.name },
    changes: { qr_style: [shown(before), shown(after)] },
    kept: { qr_style: [before, after] },
  }
}

/** Returns the style of the account's domain as events keep it; null for the plain style. */
export async function keptQrStyle(db: Db, account: number, domain: number): Promise<StoredQrStyle | null> {
  const style = await findQrStyle(db, account, domain)
  return style === undefined ? null : storedStyle(style)
}

/** Gives the account's domain a style that an event has kept. Stores no event. */
export async function restoreQrStyle(
  tx: Db,
  account: number,
  domain: number,
  kept: StoredQrStyle | null,
): Promise<void> {
  await setStyle(
    tx,
    account,
    domain,
    kept && { ...kept, logo: kept.logo === null ? null : Buffer.from(kept.logo, 'base64') },
  )
}

async function setStyle(tx: Db, account: number, domain: number, style: QrStyle | null): Promise<void> {
  if (style === null) {
    await tx.execute(query.deleteFrom('qr_styles').where('domain_id', '=', domain).where('account_id', '=', account))
    return
  }
  const { dark, background, margin, logo } = style
  const values = { dark, background, margin, logo }
  const insert = query.insertInto('qr_styles').values({ domain_id: domain, account_id: account, ...values })
  await tx.execute(insert.onConflict((conflict) => conflict.column('domain_id').doUpdateSet(values)))
}
