import { sql } from 'kysely'
import type { Actor } from '../access/actor.ts'
import { recountRecent } from '../analytics/recent.ts'
import { nameTaken, UniqueViolation } from '../errors.ts'
import { recordEvents } from '../events/log.ts'
import { LoggedRecords } from '../events/records.ts'
import type { FinishRemoval } from '../events/removal.ts'
import { type Effect, inTurn, type Reversal } from '../events/reversal.ts'
import { foldCase } from '../lib/text.ts'
import type { HostName } from '../names/host-name.ts'
import { keptQrStyle, qrStyleEvent, restoreQrStyle } from '../qr/store.ts'
import type { StoredQrStyle } from '../qr/style.ts'
import type { Db } from '../storage/port.ts'
import { firstRevision, newTimes, Records, type Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row, sqlTemplate } from '../storage/schema.ts'
import { type Domain, domainSchema } from './schema.ts'

type Urls = Pick<Domain, 'homepage_url' | 'not_found_url'>

/** Lists, finds, changes and deletes domains. */
export const domainRecords = new Records<Domain>('domains', Object.keys(domainSchema.properties) as (keyof Domain)[])

/** Changes, removes and restores domains together with their events. */
export const loggedDomains = new LoggedRecords<Domain>(domainRecords, {
  record: 'domain',
  nameOf: ({ name }) => name,
  valuesOf: ({ name, homepage_url, not_found_url }) => ({ name, homepage_url, not_found_url }),
  secrets: [],
  // A slash frees the name, and no visitor can request a name with a slash.
  freed: { name: sql`name || '/' || cast(id as text)` },
  keep: async (tx, account, id) => ({ qr_style: await keptQrStyle(tx, account, id) }),
})

/** Finds the account's domain with this name. */
export async function findDomainByName(db: Db, account: number, name: string): Promise<Domain | undefined> {
  const [domain] = await db.execute(
    query
      .selectFrom('domains')
      .select(domainRecords.columns)
      .where('name', '=', name)
      .where('account_id', '=', account),
  )
  return domain
}

/** Stores a domain; an imported one keeps its times. Throws `name_taken` if any account has the name. */
export function insertDomain(
  db: Db,
  actor: Actor,
  { name, nameUnicode }: HostName,
  { homepage_url, not_found_url }: Urls,
  times = newTimes(),
): Promise<Versioned<Domain>> {
  const stored = { name, name_unicode: nameUnicode, homepage_url, not_found_url, ...times }
  const search_text = name === nameUnicode ? null : `${name}\n${foldCase(nameUnicode)}`
  const isFree = sqlTemplate<boolean>`not exists (select 1 from domains where name = ${name})`
  const values = { account_id: actor.account, search_text, ...stored }
  return db.write(async (tx) => {
    const id = await domainRecords.insertIf(tx, values, isFree)
    if (id === undefined) throw nameTaken(name)
    const domain = domainRecords.toVersioned({ id, ...stored, revision: firstRevision })
    await loggedDomains.created(tx, actor, domain.record)
    return domain
  })
}

/** Links in one count, which takes about ten milliseconds. */
const countBatchSize = 20_000

/** Counts the links of the account's domain in batches. */
export async function countLinks(db: Db, account: number, domain: number): Promise<number> {
  let [links, after, counted] = [0, 0, countBatchSize]
  while (counted === countBatchSize) {
    const all = query.selectFrom('links').select('id').where('account_id', '=', account).where('domain_id', '=', domain)
    const batch = all.where('id', '>', after).orderBy('id').limit(countBatchSize)
    const sums = query
      .selectFrom(batch.as('batch'))
      .select(({ fn }) => [fn.countAll<number>().as('counted'), fn.max('id').as('last')])
    const [next] = await db.execute(sums)
    counted = Number(next?.counted)
    after = Number(next?.last)
    links += counted
  }
  return links
}

/** What the event of a deleted domain keeps. */
interface KeptDomain {
  readonly row: Row<'domains'>
  readonly qr_style: StoredQrStyle | null
}

/** How events of domains are reversed. `effect` informs the redirect server. */
export function domainReversal(effect: Effect, finish: FinishRemoval): Reversal {
  return {
    valuesOf: async (tx, account, ids) => {
      const found = await loggedDomains.lockedValues(tx, account, ids)
      for (const [id, values] of found) found.set(id, { ...values, qr_style: await keptQrStyle(tx, account, id) })
      return found
    },
    change: async (tx, actor, id, values) => {
      const { qr_style, ...urls } = values as Partial<Urls> & Partial<Pick<KeptDomain, 'qr_style'>>
      if (qr_style !== undefined) await changeQrStyle(tx, actor, id, qr_style)
      await loggedDomains.change(tx, actor, id, urls, null)
      return effect
    },
    remove: (tx, actor, ids) =>
      inTurn(ids, async (id) => {
        await loggedDomains.beginRemoval(tx, actor, id, { precondition: null, isPermanent: false })
        return () => finish(actor, id, false)
      }),
    restore: (tx, actor, kept) =>
      inTurn(kept as readonly KeptDomain[], async ({ row, qr_style }) => {
        const { id } = row
        try {
          // With the style, so that the restoration can be undone in turn.
          await loggedDomains.restore(tx, actor, row, qrStyleEvent(row, null, qr_style))
        } catch (error) {
          throw error instanceof UniqueViolation ? nameTaken(row.name) : error
        }
        if (qr_style !== null) await restoreQrStyle(tx, actor.account, id, qr_style)
        await recountRecent(tx, actor.account, clickLevels.domain, [id])
        return effect
      }),
  }
}

async function changeQrStyle(tx: Db, actor: Actor, id: number, style: StoredQrStyle | null): Promise<void> {
  const { account } = actor
  const domain = (await domainRecords.find(tx, account, id))?.record
  const before = await keptQrStyle(tx, account, id)
  await restoreQrStyle(tx, account, id, style)
  await recordEvents(tx, actor, [domain === undefined ? null : qrStyleEvent(domain, before, style)])
}
