import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../access/actor.ts'
import { isLogo } from '../qr/code.ts'
import { findQrStyle, readQrStyles, storeQrStyle } from '../qr/store.ts'
import { type QrStyle, qrStyleForm, storedStyle } from '../qr/style.ts'
import { resources } from '../resources.ts'
import type { Db } from '../storage/port.ts'
import {
  checkedRecord,
  InvalidRecord,
  type Members,
  parseTimes,
  type Store,
  storedOrKnown,
  type Transferable,
} from '../transfer/transferable.ts'
import { storeDomain } from './schema.ts'
import { domainRecords, findDomainByName, insertDomain } from './store.ts'

/** Domains in exports and imports. A domain is recognized by its name, which is unique in the whole instance. */
export const domainTransfer: Transferable = {
  plural: 'domains',
  singular: resources.domains.singular,
  after: async (db, account, after, limit) => {
    const domains = await domainRecords.listAfter(db, account, after, limit)
    const ids = domains.map(({ id }) => id)
    const styles = ids.length === 0 ? new Map() : await readQrStyles(db, account, ids)
    return domains.map(({ name_unicode: _, ...line }) => {
      const style = styles.get(line.id)
      return style === undefined ? line : { ...line, qr_style: storedStyle(style) }
    })
  },
  read: readDomain,
}

function readDomain({ qr_style, ...members }: Members): Store {
  const { name, ...settings } = checkedRecord(storeDomain.read(members))
  const times = parseTimes(members)
  const style = qr_style === undefined ? undefined : readQrStyle(qr_style)
  return (tx, { actor }) =>
    storedOrKnown(
      async () => {
        const { record } = await insertDomain(tx, actor, name, settings, times)
        if (style !== undefined) await storeQrStyle(tx, actor, record.id, style)
        return record
      },
      () => findDomainByName(tx, actor.account, name.name),
      (known) => {
        const { id } = known
        const names = Object.keys(settings) as (keyof typeof settings)[]
        if (names.every((field) => known[field] === settings[field])) return adoptStyle(tx, actor, id, style)
        throw new InvalidRecord(`name: ${name.name} is there already, with other URLs or app links; its id is ${id}.`)
      },
    )
}

/** Stores the style unless the domain already has one. Returns the domain's id. Throws `InvalidRecord` for another style. */
async function adoptStyle(tx: Db, actor: Actor, id: number, style: QrStyle | undefined): Promise<number> {
  if (style === undefined) return id
  const existing = await findQrStyle(tx, actor.account, id)
  if (existing === undefined) await storeQrStyle(tx, actor, id, style)
  else if (!isDeepStrictEqual(existing, style)) {
    throw new InvalidRecord(`qr_style: The domain already has QR codes in another style; its id is ${id}.`)
  }
  return id
}

/** Reads a style of a file by the rules of the form. Throws `InvalidRecord`. */
function readQrStyle(line: unknown): QrStyle {
  if (typeof line !== 'object' || line === null) throw new InvalidRecord('qr_style: The value is not an object.')
  const { logo = null, margin, ...colors } = line as Members
  const { values, violations } = qrStyleForm.read({ ...colors, margin: String(margin) })
  const named = violations.map(({ field, message }) => ({ field: `qr_style.${field}`, message }))
  const style = checkedRecord<Omit<QrStyle, 'logo'>>({ values, violations: named })
  if (logo === null) return { ...style, logo }
  const png = typeof logo === 'string' ? Buffer.from(logo, 'base64') : Buffer.alloc(0)
  if (isLogo(png)) return { ...style, logo: png }
  throw new InvalidRecord('qr_style.logo: The value is not a logo that Waymark exported. Set it to null.')
}
