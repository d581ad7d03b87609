import { sql } from 'kysely'
import type { Actor } from '../access/actor.ts'
import { nameTaken } from '../errors.ts'
import { createdEvent, type EventDescription } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { foldCase } from '../lib/text.ts'
import { type AppLinkField, noAppLinks } from '../names/app-links.ts'
import type { HostName } from '../names/host-name.ts'
import type { Db } from '../storage/port.ts'
import { newTimes, Records, type Versioned } from '../storage/records.ts'
import { CachedQuery, query } from '../storage/schema.ts'
import { type Domain, domainSchema } from './schema.ts'

/** The fields of a domain that can be changed. */
export type Settings = Pick<Domain, 'homepage_url' | 'not_found_url' | AppLinkField>

const noSettings: Settings = { homepage_url: null, not_found_url: null, ...noAppLinks }

/** Lists and finds domains. */
export const domainRecords = new Records<Domain>('domains', Object.keys(domainSchema.properties) as (keyof Domain)[])

/** A domain without its files of apps, which may be large. */
export type PlainDomain = Omit<Domain, AppLinkField>

/** Lists and finds domains without their files of apps. */
export const plainDomainRecords = new Records<PlainDomain>(
  'domains',
  domainRecords.columns.filter((column) => !(column in noAppLinks)) as (keyof PlainDomain)[],
)

/** Describes the events of domains. */
export const domainEvents = {
  record: 'domain',
  nameOf: ({ name }) => name,
  valuesOf: ({ id: _, name_unicode, created_at, updated_at, ...values }) => values,
  secrets: [],
} as const satisfies EventDescription<Domain>

/** Frees the name of a removed domain with a slash. No visitor can request a name with a slash. */
export const freed = { name: sql`name || '/' || cast(id as text)` }

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

/** Stores a domain; an imported one keeps its times. Missing settings are null. Throws `name_taken` if any account has the name. */
export function insertDomain(
  db: Db,
  actor: Actor,
  { name, nameUnicode }: HostName,
  settings: Partial<Settings>,
  times = newTimes(),
): Promise<Versioned<Domain>> {
  const stored = { name, name_unicode: nameUnicode, ...noSettings, ...settings, ...times }
  const search_text = name === nameUnicode ? null : `${name}\n${foldCase(nameUnicode)}`
  const taken = () => query.selectFrom('domains').select('id').where('name', '=', name)
  const values = { account_id: actor.account, search_text, ...stored }
  return db.write(async (tx) => {
    const isTaken = (await tx.execute(new CachedQuery('domain of any account', [name], taken))).length > 0
    const domain = isTaken ? undefined : await domainRecords.insert(tx, values)
    if (domain === undefined) throw nameTaken(name)
    await recordEvents(tx, actor, [createdEvent(domainEvents, domain.record)])
    return domain
  })
}

/** Addresses in one count, which takes about ten milliseconds. */
const countBatchSize = 8_000

/** Counts the links of the account's domain, and the further addresses there, in batches. */
export async function countAddresses(
  db: Db,
  account: number,
  domain: number,
): Promise<{ readonly links: number; readonly further: number }> {
  let [links, further, after, counted] = [0, 0, '', countBatchSize]
  while (counted === countBatchSize) {
    // In the order of the index of the domain.
    const all = query.selectFrom('addresses').select(['alias', 'main']).where('domain_id', '=', domain)
    const own = all.where('account_id', '=', account).where('alias', '>', after)
    const sums = query
      .selectFrom(own.orderBy('alias').limit(countBatchSize).as('batch'))
      .select(({ fn }) => [
        fn.countAll<number>().as('counted'),
        fn.sum<number>('main').as('links'),
        fn.max('alias').as('last'),
      ])
    const [next] = await db.execute(sums)
    counted = Number(next?.counted)
    after = next?.last ?? ''
    const main = Number(next?.links)
    links += main
    further += counted - main
  }
  return { links, further }
}
