/** Replaces the name of a removed member in the history of the account, in steps that block nothing else. */
import { setTimeout as wait } from 'node:timers/promises'
import { notFound } from '../errors.ts'
import type { Changes } from '../events/event.ts'
import { eraseInvitations } from '../idempotency/store.ts'
import { foldCase } from '../lib/text.ts'
import { scrub } from '../storage/batch-writer.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** What events have instead of the names and email addresses of a forgotten member. */
const forgottenName = 'Removed member'

/** Events that one transaction reads: a few milliseconds. */
const readTogether = 1_000
/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 3

/** An event of a member or an invitation. */
interface PersonalEvent {
  readonly id: number
  readonly action: string
  readonly record_id: number
  readonly record_name: string
  readonly changes: string | null
  readonly batch_id: string
}

/**
 * Replaces the name and the email address of a removed member in all events of the account, and the name on the keys that
 * they created, and removes their invitations from stored responses. SQLite then overwrites its log. After an interruption,
 * it can be repeated. Throws `not_found` if the history has no such member.
 */
export async function forgetMember(db: Storage, account: number, id: number): Promise<void> {
  const own = await db.execute(personalEvents(account, 'member').where('record_id', '=', id))
  if (own.length === 0) throw notFound('removed member in the history')
  const isOwn = await matchInvitations(db, account, own)
  const names = [...collectValues(own, 'name'), ...own.map(({ record_name }) => record_name)]
  const values = new Set<string | null>([...names, ...collectValues(own, 'email')])
  const eraseResponses = (invitations: readonly number[]) =>
    eraseInvitations(db, account, ({ id, name, email, created_by }) => {
      return invitations.includes(id) || [name, email, created_by?.name ?? null].some((value) => values.has(value))
    })
  for await (const { after, last } of ranges(db, account)) {
    const acted = query.updateTable('events').set({ actor_name: forgottenName }).where('account_id', '=', account)
    const inRange = acted.where('id', '>', after).where('id', '<=', last)
    await db.execute(inRange.where('actor_kind', '=', 'member').where('actor_id', '=', id))
    const invited = personalEvents(account, 'invitation').where('id', '>', after).where('id', '<=', last)
    const personal = (await db.execute(invited)).filter(isOwn)
    if (personal.length > 0) await eraseResponses(personal.map(({ record_id }) => record_id))
    for (const event of personal) await forget(db, event, isNamedAfter(event))
  }
  await eraseResponses([])
  const keys = query.updateTable('keys').set({ created_by: forgottenName }).where('account_id', '=', account)
  await db.execute(keys.where('member_id', 'is', null).where('created_by', 'in', names))
  // Last, because a repetition needs the values.
  for (const event of own) await forget(db, event, true)
  await scrub(db.location, 'events')
}

function personalEvents(account: number, record: 'member' | 'invitation') {
  const columns = ['id', 'action', 'record_id', 'record_name', 'batch_id', 'changes'] as const
  return query.selectFrom('events').select(columns).where('account_id', '=', account).where('record', '=', record)
}

/** Returns a predicate for events about an invitation that the person used, or that has their email address. */
async function matchInvitations(db: Db, account: number, own: readonly PersonalEvent[]) {
  const joined = own.find(({ action }) => action === 'joined')
  const inBatch = personalEvents(account, 'invitation').where('batch_id', '=', joined?.batch_id ?? '')
  const used = new Set((await db.execute(inBatch)).map(({ record_id }) => record_id))
  const emails = new Set([...collectValues(own, 'email')].map(foldCase))
  return (event: PersonalEvent) =>
    used.has(event.record_id) || [...collectValues([event], 'email')].some((email) => emails.has(foldCase(email)))
}

/** Splits the account's events by id. */
async function* ranges(db: Db, account: number): AsyncGenerator<{ readonly after: number; readonly last: number }> {
  const all = query.selectFrom('events').select('id').where('account_id', '=', account).orderBy('id')
  for (let after = 0; ; ) {
    const ids = await db.execute(all.where('id', '>', after).limit(readTogether))
    const last = Number(ids.at(-1)?.id ?? after)
    if (last === after) return
    yield { after, last }
    after = last
    await wait(pauseMs)
  }
}

/** Returns the values of a field before and after these events, except forgotten ones. */
function collectValues(events: readonly PersonalEvent[], field: 'name' | 'email'): ReadonlySet<string> {
  const all = events.flatMap((event) => parseChanges(event)[field] ?? [])
  return new Set(all.filter((value): value is string => typeof value === 'string' && value !== forgottenName))
}

function parseChanges({ changes }: PersonalEvent): Changes {
  return changes === null ? {} : (JSON.parse(changes) as Changes)
}

/** Returns whether an invitation's name or email address is the event's `record_name`. */
function isNamedAfter(event: PersonalEvent): boolean {
  return collectValues([event], 'name').has(event.record_name) || collectValues([event], 'email').has(event.record_name)
}

/** Replaces names and email addresses in an event; if `isNamed`, also `record_name`. */
async function forget(db: Db, event: PersonalEvent, isNamed: boolean): Promise<void> {
  const values = parseChanges(event)
  const personal = Object.entries(values).filter(([field]) => field === 'name' || field === 'email')
  const forgotten = personal.map(([field, pair]) => [field, pair.map((value) => value && forgottenName)])
  const changes = event.changes && JSON.stringify({ ...values, ...Object.fromEntries(forgotten) })
  const changed = { changes, ...(isNamed && { record_name: forgottenName }) }
  await db.execute(query.updateTable('events').set(changed).where('id', '=', event.id))
}
