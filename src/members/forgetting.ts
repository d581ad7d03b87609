/** Replaces the name of a removed member in the history of the account, in steps that block nothing else. */
import { notFound } from '../errors.ts'
import type { Changes } from '../events/event.ts'
import { parseChanges } from '../events/stored-changes.ts'
import { eraseInvitations } from '../idempotency/store.ts'
import type { HeldJob, Jobs } from '../jobs/jobs.ts'
import { ensureJob, inSteps } from '../jobs/store.ts'
import { foldCase } from '../lib/text.ts'
import type { RecordKind } from '../record-kinds.ts'
import { scrub } from '../storage/batch-writer.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** What events have instead of the names and email addresses of a forgotten member. */
const forgottenName = 'Removed member'

/** Events that one transaction reads: a few milliseconds. */
const readTogether = 1_000
/** An event of a member or an invitation. */
interface PersonalEvent {
  readonly id: number
  readonly record: string
  readonly action: string
  readonly record_id: number
  readonly record_name: string
  readonly changes: string | null
  readonly batch_id: string
}

/**
 * Replaces the name and the email address of a removed member in all events of the account, and the name on the keys that
 * they created, and removes their invitations from stored responses. SQLite then overwrites its log. Throws `not_found` if the
 * history has no such member.
 */
export async function forgetMember(db: Db, jobs: Jobs, account: number, id: number): Promise<void> {
  const own = await db.execute(personalEvents(account, 'member').where('record_id', '=', id).limit(1))
  if (own.length === 0) throw notFound('removed member in the history')
  const member = { record: 'member', record_id: id } as const
  await ensureJob(db, { kind: 'forgetting', ...member, account })
  await jobs.run(member)
}

/** Defines how members are forgotten. */
export function defineForgetting(jobs: Jobs, storage: Storage): void {
  jobs.define('forgetting', (job) => forgetInSteps(storage, job))
}

async function forgetInSteps(db: Storage, { account, record_id: id, lease, signal }: HeldJob): Promise<void> {
  const owner = Number(account)
  const own = await db.execute(personalEvents(owner, 'member').where('record_id', '=', id))
  const isOwn = await matchInvitations(db, owner, own)
  const names = [...collectValues(own, 'name'), ...own.map(({ record_name }) => record_name)]
  const values = new Set<string | null>([...names, ...collectValues(own, 'email')])
  const invitations = (await db.execute(personalEvents(owner, 'invitation'))).filter(isOwn)
  const step = async (tx: Db, after: number) => {
    const all = query.selectFrom('events').select('id').where('account_id', '=', owner).orderBy('id')
    const last = (await tx.execute(all.where('id', '>', after).limit(readTogether))).at(-1)?.id
    if (last === undefined) return null
    const acted = query.updateTable('events').set({ actor_name: forgottenName }).where('account_id', '=', owner)
    const inRange = acted.where('id', '>', after).where('id', '<=', last)
    await tx.execute(inRange.where('actor_kind', '=', 'member').where('actor_id', '=', id))
    return { position: Number(last) }
  }
  await inSteps(db, lease, step, signal)
  const invited = new Set(invitations.map(({ record_id }) => record_id))
  await eraseInvitations(db, owner, ({ id, name, email, created_by }) => {
    return invited.has(id) || [name, email, created_by?.name ?? null].some((value) => values.has(value))
  })
  const keys = query.updateTable('keys').set({ created_by: forgottenName }).where('account_id', '=', owner)
  await db.execute(keys.where('member_id', 'is', null).where('created_by', 'in', names))
  await db.write(async (tx) => {
    // Last, because a repetition needs the values.
    for (const event of invitations) await forget(tx, event, isNamedAfter(event))
    for (const event of own) await forget(tx, event, true)
  })
  // The job ends after this, so that another process does it after a kill.
  await scrub(db.location, 'events')
}

function personalEvents(account: number, record: 'member' | 'invitation') {
  const columns = ['id', 'record', 'action', 'record_id', 'record_name', 'batch_id', 'changes'] as const
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

/** Returns the values of a field before and after these events, except forgotten ones. */
function collectValues(events: readonly PersonalEvent[], field: 'name' | 'email'): ReadonlySet<string> {
  const all = events.flatMap((event) => changesIn(event)[field] ?? [])
  return new Set(all.filter((value): value is string => typeof value === 'string' && value !== forgottenName))
}

function changesIn({ record, changes }: PersonalEvent): Changes {
  return parseChanges(record as RecordKind, changes) ?? {}
}

/** Returns whether an invitation's name or email address is the event's `record_name`. */
function isNamedAfter(event: PersonalEvent): boolean {
  return collectValues([event], 'name').has(event.record_name) || collectValues([event], 'email').has(event.record_name)
}

/** Replaces names and email addresses in an event; if `isNamed`, also `record_name`. */
async function forget(db: Db, event: PersonalEvent, isNamed: boolean): Promise<void> {
  const values = changesIn(event)
  const personal = Object.entries(values).filter(([field]) => field === 'name' || field === 'email')
  const forgotten = personal.map(([field, pair]) => [field, pair.map((value) => value && forgottenName)])
  const changes = event.changes && JSON.stringify({ ...values, ...Object.fromEntries(forgotten) })
  const changed = { changes, ...(isNamed && { record_name: forgottenName }) }
  await db.execute(query.updateTable('events').set(changed).where('id', '=', event.id))
}
