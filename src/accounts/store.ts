import type { Actor } from '../access/actor.ts'
import { type EventDescription, updatedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { Db } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'
import { currentTimeZone, initialTimeZones, parseTimeZones, type TimeZones, withTimeZone } from './time-zones.ts'

/** The owner of records and keys. */
interface Account {
  readonly id: number
  readonly name: string
  /** The IANA name of the time zone of its days and hours. */
  readonly time_zone: string
  /** Whether API keys can sign in to the dashboard. */
  readonly key_sign_in: boolean
  readonly created_at: string
}

/** Creates an account. Names need not be unique. */
export async function createAccount(db: Db, name: string, timeZone?: string): Promise<Account> {
  const created_at = new Date().toISOString()
  const time_zones = JSON.stringify(initialTimeZones(timeZone))
  // Earlier days are not recent in any zone.
  const recent_day = Math.floor(Date.now() / 86_400_000) - 31
  const inserted = query.insertInto('accounts').values({ name, time_zones, recent_day, created_at }).returningAll()
  return toAccount((await db.execute(inserted))[0] as Row<'accounts'>)
}

/** Returns whether the account is the first of the instance, which belongs to its operator. */
export async function isFirstAccount(db: Db, id: number): Promise<boolean> {
  const earlier = query.selectFrom('accounts').select('id').where('id', '>', 0).where('id', '<', id)
  return (await db.execute(earlier.limit(1))).length === 0
}

/** Lists all accounts of the instance, oldest first, for the operator. Account 0 is not listed: it belongs to no one. */
export async function listAccounts(db: Db): Promise<Account[]> {
  return (await db.execute(accounts.orderBy('id'))).map(toAccount)
}

export async function findAccount(db: Db, id: number): Promise<Account | undefined> {
  const [account] = await db.execute(accounts.where('id', '=', id))
  return account && toAccount(account)
}

/** Returns the column `time_zones` of an account. */
export async function findTimeZones(db: Db, id: number): Promise<string> {
  const [account] = await db.execute(query.selectFrom('accounts').select('time_zones').where('id', '=', id))
  return account?.time_zones ?? JSON.stringify(initialTimeZones())
}

/**
 * Changes the name of the actor's account, its time zone for clicks from `now` on, in Unix milliseconds, and whether API keys
 * can sign in. Their sessions end immediately if they can't.
 */
export async function updateAccount(
  db: Db,
  actor: Actor,
  { name, time_zone, key_sign_in }: Pick<Account, 'name' | 'time_zone'> & Partial<Pick<Account, 'key_sign_in'>>,
  now = Date.now(),
): Promise<void> {
  await change(db, actor, (row) => ({
    name,
    time_zones: JSON.stringify(withTimeZone(parseTimeZones(row.time_zones), time_zone, now)),
    key_sign_in: key_sign_in === undefined ? row.key_sign_in : Number(key_sign_in),
  }))
}

/** Gives the actor's account the time zones of an export, if it has any, unless its own zone was ever set. */
export async function adoptTimeZones(db: Db, actor: Actor, zones: TimeZones | undefined): Promise<void> {
  if (zones === undefined) return
  const initial = JSON.stringify(initialTimeZones())
  await change(db, actor, ({ time_zones }) => (time_zones === initial ? { time_zones: JSON.stringify(zones) } : null))
}

/** Changes columns of the actor's account, unless `changed` returns null for its row. */
async function change(
  db: Db,
  actor: Actor,
  changed: (row: Row<'accounts'>) => Partial<Pick<Row<'accounts'>, 'name' | 'time_zones' | 'key_sign_in'>> | null,
): Promise<void> {
  await db.write(async (tx) => {
    const [row] = await tx.execute(accounts.where('id', '=', actor.account).forNoKeyUpdate())
    const values = row === undefined ? null : changed(row)
    if (row === undefined || values === null) return
    await tx.execute(
      query
        .updateTable('accounts')
        .set({ ...values, recent_until_ms: 0 })
        .where('id', '=', row.id),
    )
    // Otherwise, these sessions would be open again if keys can sign in again.
    const ofKeys = query.deleteFrom('sessions').where('account_id', '=', row.id).where('key_id', 'is not', null)
    if (values.key_sign_in === 0) await tx.execute(ofKeys)
    await recordEvents(tx, actor, [updatedEvent(described, toAccount(row), toAccount({ ...row, ...values }))])
  })
}

const described: EventDescription<Account> = {
  record: 'account',
  nameOf: ({ name }) => name,
  valuesOf: ({ name, time_zone, key_sign_in }) => ({ name, time_zone, key_sign_in }),
  secrets: [],
}

const accounts = query.selectFrom('accounts').selectAll().where('id', '>', 0)

function toAccount({ id, name, time_zones, key_sign_in, created_at }: Row<'accounts'>): Account {
  const time_zone = currentTimeZone(parseTimeZones(time_zones))
  return { id, name, time_zone, key_sign_in: key_sign_in === 1, created_at }
}
