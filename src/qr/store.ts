import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import type { QrStyle } from './style.ts'

const columns = ['domain_id', 'dark', 'background', 'margin', 'logo'] as const

/** Finds the style of the account's domain; undefined for the plain style. */
export async function findQrStyle(db: Db, account: number, domain: number): Promise<QrStyle | undefined> {
  return (await qrStylesOf(db, account, [domain])).get(domain)
}

/** Returns the styles of the account's domains by id. Domains with the plain style are missing. */
export async function qrStylesOf(
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

/** Stores the style of the account's domain. Returns false if the account has no such domain. */
export async function storeQrStyle(db: Db, account: number, domain: number, style: QrStyleChange): Promise<boolean> {
  const { dark, background, margin, logo } = style
  const changed = { dark, background, margin, ...(logo !== undefined && { logo }) }
  return db.write(async (tx) => {
    const own = query.selectFrom('domains').select('id').where('id', '=', domain).where('account_id', '=', account)
    // The lock keeps the domain from being deleted at the same time.
    if ((await tx.execute(own.forUpdate())).length === 0) return false
    await tx.execute(
      query
        .insertInto('qr_styles')
        .values({ domain_id: domain, account_id: account, logo: null, ...changed })
        .onConflict((conflict) => conflict.column('domain_id').doUpdateSet(changed)),
    )
    return true
  })
}

/** Makes the codes of the account's domain plain again. */
export async function removeQrStyle(db: Db, account: number, domain: number): Promise<void> {
  await db.execute(query.deleteFrom('qr_styles').where('domain_id', '=', domain).where('account_id', '=', account))
}
