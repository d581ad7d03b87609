/** The log of events as the database has it, and the records that it describes. */
import assert from 'node:assert/strict'
import { parseChanges } from '../src/events/stored-changes.ts'
import { linkLabels } from '../src/links/schema.ts'
import type { Json } from './client.ts'
import type { Variables } from './processes.ts'
import { queryAt, type VisitedServer } from './visited-server.ts'

export const recordKinds = ['domain', 'space', 'tag', 'link'] as const
export const peopleKinds = ['member', 'invitation', 'key'] as const
type Kind = (typeof recordKinds | typeof peopleKinds)[number]

/** The fields of events that the API or the database shows, too. */
const eventFields: Readonly<Record<Kind, readonly string[]>> = {
  domain: ['name', 'homepage_url', 'not_found_url', 'apple_app_site_association', 'asset_links'],
  space: ['name', 'color'],
  tag: ['name', 'color'],
  link: Object.keys(linkLabels).filter((field) => field !== 'redirect_password'),
  member: ['name', 'email', 'role'],
  invitation: ['name', 'email', 'role', 'expires_at'],
  key: ['name', 'scopes', 'expires_at', 'revoked_at'],
}

export interface LoggedEvent {
  readonly id: number
  readonly batch: string
  readonly kind: Kind
  readonly action: string
  readonly name: string
  /** The record's kind and id. */
  readonly record: string
  readonly requestId: string | null
  readonly changes: Readonly<Record<string, readonly [Json, Json]>>
  readonly undoneBy: number | null
}

/** Reads all events of some kinds of records, in the order of the changes of each record. */
export async function readEvents(
  variables: Variables,
  where = 'true',
  kinds: readonly Kind[] = recordKinds,
): Promise<LoggedEvent[]> {
  const rows = await queryAt(variables, `select * from events where ${where} order by id`)
  return rows.flatMap((row) => {
    const kind = kinds.find((each) => each === row.record)
    if (kind === undefined) return []
    return {
      ...{ id: Number(row.id), batch: String(row.batch_id), kind, action: String(row.action), name: String(row.name) },
      record: `${kind} ${row.record_id}`,
      requestId: row.request_id === null ? null : String(row.request_id),
      changes: parseChanges(kind, String(row.changes)) as LoggedEvent['changes'],
      undoneBy: row.undone_by === null ? null : Number(row.undone_by),
    }
  })
}

/** Values by a record's kind and id. */
export type State = Map<string, Readonly<Record<string, Json>>>

/**
 * Returns the records after all events. Throws if an event does not start where the one before it of its record ended, or if
 * a new record has the id of an earlier one.
 */
export function replay(events: readonly LoggedEvent[]): State {
  const state: State = new Map()
  const known = new Set<string>()
  for (const { id, kind, action, record, changes } of events) {
    const before = state.get(record)
    const isNew = ['created', 'joined', 'restored'].includes(action)
    assert.ok(!isNew || known.has(record) === (action === 'restored'), `event ${id}: ${record} ${action}`)
    known.add(record)
    assert.equal(before === undefined, isNew, `event ${id}: ${record} ${action}`)
    const current: Record<string, Json> = before ?? Object.fromEntries(eventFields[kind].map((field) => [field, null]))
    const next = { ...current }
    for (const field of eventFields[kind]) {
      const [old, now] = changes[field] ?? [current[field], current[field]]
      assert.deepEqual(current[field], old, `event ${id}: ${field} of ${record} ${action}`)
      next[field] = now
    }
    if (['deleted', 'merged', 'removed'].includes(action)) state.delete(record)
    else state.set(record, next)
    if (kind === 'tag' && before !== undefined && changes.name?.[1]) renameTag(state, ...changes.name)
  }
  return state
}

/** Renames a tag of links, which have no event of their own for that. */
function renameTag(state: State, from: Json, to: Json): void {
  for (const [record, values] of state) {
    if (!values.tags?.includes(from)) continue
    const tags = values.tags.map((name: Json) => (name === from ? to : name))
    state.set(record, { ...values, tags: [...new Set(tags)].sort() })
  }
}

/** Returns the records as the API shows them, without fields that no event has. Checks the list totals. */
export async function readRecords(server: VisitedServer): Promise<State> {
  const state: State = new Map()
  for (const kind of recordKinds) {
    for (const row of await listAll(server, `/${kind}s?${kind === 'link' ? 'archived=any&' : ''}`)) {
      // The log has null for an empty list of rules, so that events of most links don't name the field.
      const valueIn = (field: string) => (field === 'rules' && row[field].length === 0 ? null : row[field])
      state.set(`${kind} ${row.id}`, Object.fromEntries(eventFields[kind].map((field) => [field, valueIn(field)])))
    }
  }
  return state
}

/** Returns members, invitations and keys as the database has them. */
export async function readPeople(variables: Variables): Promise<State> {
  const state: State = new Map()
  for (const kind of peopleKinds) {
    for (const { id, ...values } of await queryAt(variables, `select id, ${eventFields[kind]} from ${kind}s`)) {
      const scopes = kind === 'key' && { scopes: String(values.scopes).split(' ') }
      state.set(`${kind} ${id}`, { ...values, ...scopes })
    }
  }
  return state
}

/** Returns all rows of a list of the API, and checks their number. The path ends with `?` or `&`. */
export async function listAll(server: VisitedServer, path: string): Promise<Json[]> {
  const rows: Json[] = []
  for (let page = 1; ; page++) {
    const { status, body, text } = await server.ask('GET', `${path}per_page=100&sort=asc&page=${page}`)
    assert.equal(status, 200, text)
    rows.push(...body.data)
    if (page < body.meta.last_page) continue
    assert.equal(body.meta.total, rows.length, path)
    return rows
  }
}
