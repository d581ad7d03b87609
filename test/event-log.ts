/** The log of events as the database has it, and the records that it describes. */
import assert from 'node:assert/strict'
import { linkLabels } from '../src/links/schema.ts'
import type { Json } from './client.ts'
import type { Variables } from './processes.ts'
import { queryAt, type VisitedServer } from './visited-server.ts'

const kinds = ['domain', 'space', 'tag', 'link'] as const
type Kind = (typeof kinds)[number]
const isKind = (record: string): record is Kind => (kinds as readonly string[]).includes(record)

/** The fields that both events and the API show. */
const fieldsOf: Readonly<Record<Kind, readonly string[]>> = {
  domain: ['name', 'homepage_url', 'not_found_url', 'apple_app_site_association', 'asset_links'],
  space: ['name', 'color'],
  tag: ['name', 'color'],
  link: Object.keys(linkLabels).filter((field) => field !== 'redirect_password'),
}

export interface LoggedEvent {
  readonly id: number
  readonly batch: string
  readonly kind: Kind
  readonly action: string
  /** The kind and the id of the record. */
  readonly record: string
  readonly requestId: string | null
  readonly changes: Readonly<Record<string, readonly [Json, Json]>>
  readonly undoneBy: number | null
}

/** Reads all events of links, domains, spaces and tags, in the order of the changes of each record. */
export async function readEvents(variables: Variables, where = 'true'): Promise<LoggedEvent[]> {
  const rows = await queryAt(variables, `select * from events where ${where} order by id`)
  return rows.flatMap((row) => {
    const kind = String(row.record)
    if (!isKind(kind)) return []
    return {
      ...{ id: Number(row.id), batch: String(row.batch_id), kind, action: String(row.action) },
      record: `${kind} ${row.record_id}`,
      requestId: row.request_id === null ? null : String(row.request_id),
      changes: JSON.parse(String(row.changes)),
      undoneBy: row.undone_by === null ? null : Number(row.undone_by),
    }
  })
}

/** Values by the kind and the id of a record. */
export type State = Map<string, Readonly<Record<string, Json>>>

/** Returns the records after all events. Throws if an event does not start where the one before it of its record ended. */
export function replay(events: readonly LoggedEvent[]): State {
  const state: State = new Map()
  for (const { id, kind, action, record, changes } of events) {
    const before = state.get(record)
    const isNew = action === 'created' || action === 'restored'
    assert.equal(before === undefined, isNew, `event ${id}: ${record} ${action}`)
    const current: Record<string, Json> = before ?? Object.fromEntries(fieldsOf[kind].map((field) => [field, null]))
    const next = { ...current }
    for (const field of fieldsOf[kind]) {
      const [old, now] = changes[field] ?? [current[field], current[field]]
      assert.deepEqual(current[field], old, `event ${id}: ${field} of ${record} ${action}`)
      next[field] = now
    }
    if (action === 'deleted' || action === 'merged') state.delete(record)
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

/** Returns the records as the API shows them, without fields that no event has. Checks the totals of the lists. */
export async function readRecords(server: VisitedServer): Promise<State> {
  const state: State = new Map()
  for (const kind of kinds) {
    for (const row of await listAll(server, `/${kind}s?${kind === 'link' ? 'archived=any&' : ''}`)) {
      // The log has null for an empty list of rules, so that events of most links don't name the field.
      const valueIn = (field: string) => (field === 'rules' && row[field].length === 0 ? null : row[field])
      state.set(`${kind} ${row.id}`, Object.fromEntries(fieldsOf[kind].map((field) => [field, valueIn(field)])))
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

/** Resolves once no connection of a killed server can commit any more, which PostgreSQL may do after its end. */
export async function settled(variables: Variables): Promise<void> {
  if (!variables.DATABASE_URL?.startsWith('postgres:')) return
  const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
  while ((await queryAt(variables, others)).length > 0);
}

/** Returns whether records or links of removals are left that the server has not yet removed. */
export async function isRemoving(variables: Variables): Promise<boolean> {
  const removed = ['domains', 'spaces', 'tags'].map((table) => `select id from ${table} where account_id = 0`)
  return (await queryAt(variables, removed.join(' union all '))).length > 0
}

/** Returns whether a request got no response because the server was killed. */
export function isCut(error: unknown): boolean {
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes((error as { readonly code?: string }).code ?? '')
}
