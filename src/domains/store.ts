import { sql } from 'kysely'
import type { Actor } from '../access/actor.ts'
import { recountRecent } from '../analytics/recent.ts'
import { irreversible, nameTaken, UniqueViolation } from '../errors.ts'
import { recordEvents, removeClicks } from '../events/log.ts'
import { LoggedRecords } from '../events/records.ts'
import type { DetachLinks, Removal } from '../events/removal.ts'
import type { Effect, Reversal } from '../events/reversal.ts'
import { foldCase } from '../lib/text.ts'
import type { HostName } from '../names/host-name.ts'
import { keptQrStyle, qrStyleEvent, restoreQrStyle } from '../qr/store.ts'
import type { StoredQrStyle } from '../qr/style.ts'
import type { Db } from '../storage/port.ts'
import { firstRevision, newTimes, type Precondition, Records, type Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row, sqlTemplate } from '../storage/schema.ts'
import { type Domain, domainSchema } from './schema.ts'

type Urls = Pick<Domain, 'homepage_url' | 'not_found_url'>

/** Lists, finds, changes and deletes domains. */
export const domainRecords = new Records<Domain>('domains', Object.keys(domainSchema.properties) as (keyof Domain)[])

const logged = new LoggedRecords<Domain>('domains', domainRecords, {
  record: 'domain',
  nameOf: ({ name }) => name,
  valuesOf: ({ name, homepage_url, not_found_url }) => ({ name, homepage_url, not_found_url }),
  secrets: [],
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
    await logged.created(tx, actor, domain.record)
    return domain
  })
}

/** Changes the actor's domain, as `Records.change` does. */
export function changeDomain(
  db: Db,
  actor: Actor,
  id: number,
  urls: { readonly [Name in keyof Urls]?: Urls[Name] | undefined },
  precondition: Precondition | null,
): Promise<Versioned<Domain> | undefined> {
  return logged.change(db, actor, id, urls, precondition)
}

/**
 * Moves the actor's domain out of the account, so that it is gone for all clients together with its links. Returns false if
 * there is no such domain, and `in use` if it has links and `takesLinks` is false: then the transaction must fail. Call
 * `finishRemoval` afterwards. Throws what `precondition` throws for the current version.
 */
export async function beginDomainRemoval(
  tx: Db,
  actor: Actor,
  id: number,
  { precondition, takesLinks, isPermanent }: DomainDeletion,
): Promise<boolean | 'in use'> {
  const { account } = actor
  // A slash frees the name, and no visitor can request a name with a slash.
  const freed = { name: sql`name || '/' || cast(id as text)` }
  const keep = isPermanent ? null : async () => ({ qr_style: await keptQrStyle(tx, account, id) })
  if (!(await logged.beginRemoval(tx, actor, id, { precondition, freed, keep }))) return false
  // The lock on the domain keeps new links away, so this is the last moment to look for them.
  if (!takesLinks && (await tx.execute(linksOf(account, id).limit(1))).length > 0) return 'in use'
  if (isPermanent) await removeClicks(tx, clickLevels.domain, [id])
  return true
}

/** How a domain is deleted. */
export interface DomainDeletion {
  readonly precondition: Precondition | null
  /** Whether its links are deleted, too. */
  readonly takesLinks: boolean
  readonly isPermanent: boolean
}

function linksOf(account: number, domain: number) {
  return query.selectFrom('links').select('id').where('account_id', '=', account).where('domain_id', '=', domain)
}

/** Links in one count, which takes about ten milliseconds. */
const countBatchSize = 20_000

/** Counts the links of the account's domain in batches. */
export async function countLinks(db: Db, account: number, domain: number): Promise<number> {
  let [links, after, counted] = [0, 0, countBatchSize]
  while (counted === countBatchSize) {
    const batch = linksOf(account, domain).where('id', '>', after).orderBy('id').limit(countBatchSize)
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

const removed = query.selectFrom('domains').select('id').where('account_id', '=', 0)

/** Returns the queries that remove a domain together with its links, which `detachLinks` deletes. */
export function domainRemoval(detachLinks: DetachLinks): Removal {
  return {
    record: 'domain',
    detachLinks,
    selectLink: (id) => query.selectFrom('links').select('id').where('domain_id', '=', id).limit(1),
    deleteRemoved: (id) => query.deleteFrom('domains').where('id', '=', id).where('account_id', '=', 0).returning('id'),
    selectRemoved: () => removed,
  }
}

/** What the event of a deleted domain keeps. */
interface KeptDomain {
  readonly row: Row<'domains'>
  readonly qr_style: StoredQrStyle | null
}

/** How events of domains are reversed. `effect` informs the redirect server, `remove` finishes a removal. */
export function domainReversal(effect: Effect, remove: (id: number) => Effect): Reversal {
  return {
    valuesOf: async (tx, account, id) => {
      const values = await logged.lockedValues(tx, account, id)
      return values && { ...values, qr_style: await keptQrStyle(tx, account, id) }
    },
    change: async (tx, actor, id, values) => {
      const { qr_style, ...urls } = values as Partial<Urls> & Partial<Pick<KeptDomain, 'qr_style'>>
      if (qr_style !== undefined) await changeQrStyle(tx, actor, id, qr_style)
      await logged.change(tx, actor, id, urls, null)
      return effect
    },
    remove: async (tx, actor, id, isCreation) => {
      const how = { precondition: null, takesLinks: !isCreation, isPermanent: false }
      if ((await beginDomainRemoval(tx, actor, id, how)) === 'in use')
        throw irreversible('The domain has links by now.')
      return remove(id)
    },
    restore: async (tx, actor, id, kept) => {
      const { row, qr_style } = kept as KeptDomain
      const same = query.selectFrom('domains').select('id').where('name', '=', row.name)
      if ((await tx.execute(same)).length > 0) throw nameTaken(row.name)
      try {
        // With the style, so that the restoration can be undone in turn.
        await logged.restore(tx, actor, row, qrStyleEvent(row, null, qr_style))
      } catch (error) {
        // The name was stored during the transaction.
        if (error instanceof UniqueViolation) throw nameTaken(row.name)
        throw error
      }
      if (qr_style !== null) await restoreQrStyle(tx, actor.account, id, qr_style)
      await recountRecent(tx, actor.account, clickLevels.domain, id)
      return effect
    },
  }
}

async function changeQrStyle(tx: Db, actor: Actor, id: number, style: StoredQrStyle | null): Promise<void> {
  const { account } = actor
  const domain = (await domainRecords.find(tx, account, id))?.record
  const before = await keptQrStyle(tx, account, id)
  await restoreQrStyle(tx, account, id, style)
  await recordEvents(tx, actor, [domain === undefined ? null : qrStyleEvent(domain, before, style)])
}
