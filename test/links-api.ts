/** Accounts with a domain for API tests, and database queries for links. */
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Db } from '../src/storage/port.ts'
import { query } from '../src/storage/schema.ts'
import type { TestApp } from './app.ts'
import type { Answer, Json, Request } from './client.ts'

let made = 0

/** Returns a unique name in this process. */
export function fresh(stem: string): string {
  made += 1
  return `${stem}${made}`
}

/** Returns a unique name that domains, spaces and tags can have. */
export const newName = () => `${fresh('n')}.example`

/** An account, its key and its oldest domain. */
export interface Place {
  readonly account: number
  readonly key: string
  readonly domain: Json
  /** Sends a request with the account's key. The path is relative to `/api/v1`. */
  send(method: string, path: string, request?: Request): Promise<Answer>
  /** Stores a record. A link gets a default URL. */
  stored(path: string, json?: Json): Promise<Json>
  /** Stores a link. */
  link(json?: Json): Promise<Json>
}

export async function newPlace(app: TestApp): Promise<Place> {
  const account = await app.createAccount()
  const key = await app.createKey({ account })
  const send = (method: string, path: string, request: Request = {}) =>
    app.send(method, `/api/v1${path}`, { key, ...request })
  const stored = (path: string, json?: Json) => app.stored(path, json, key)
  const link = (json: Json = {}) => stored('/links', { url: 'https://acme.com', ...json })
  const domain = await stored('/domains', { name: `${fresh('go')}.example` })
  return { account, key, domain, send, stored, link }
}

/** Returns the newest event of an account. */
export async function newestEvent({ send }: Pick<Place, 'send'>): Promise<Json> {
  return (await send('GET', '/events')).body.data[0]
}

export function assertRefused(answer: Answer, ...expected: readonly (readonly [field: string, code: string])[]): void {
  assert.equal(answer.status, 422, answer.text)
  assert.deepEqual(
    answer.body.violations.map(({ field, code }: Json) => [field, code]),
    expected,
  )
}

/** Adds human clicks to a link, the last at a time in RFC 3339. */
export async function clickOn(db: Db, id: number, clicks: number, at: string): Promise<void> {
  await db.execute(click({ id, clicks, at: Date.parse(at) }))
  await db.execute(statusDue({ id }))
}

const click = ({ id, clicks, at }: { id: number; clicks: number; at: number }) =>
  query
    .updateTable('link_clicks')
    .set({ clicks: sql`clicks + ${clicks}`, last_clicked_ms: at })
    .where('link_id', '=', id)

const statusDue = ({ id }: { id: number }) => query.updateTable('links').set({ status_due_at: '' }).where('id', '=', id)

/** Changes the period of a link without its stored status. */
export const setPeriod = (
  id: number,
  times: Partial<Record<'active_period_start_at' | 'active_period_end_at', string>>,
) =>
  query
    .updateTable('links')
    .set({ ...times, status_due_at: '' })
    .where('id', '=', id)

export const storedPassword = ({ id }: { id: number }) =>
  query.selectFrom('links').select('redirect_password').where('id', '=', id)

/** Counts the links on a domain of any account. */
export const linksOn = ({ id }: { id: number }) =>
  query
    .selectFrom('links')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('domain_id', '=', id)

/** Selects records that are being removed. */
export const outOfAccount = {
  domains: () => query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', 0),
  spaces: () => query.selectFrom('spaces').select('id').where('account_id', '=', 0),
}
