/** Bulk requests: `POST` and `PATCH /links/bulk`, and `POST /links/bulk/delete`. Each is one transaction. */
import { Table } from '../api/body.ts'
import { claimOf, idempotencyKeyOf } from '../api/idempotency.ts'
import type { Admitted } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import {
  bulkRejected,
  type ErrorCode,
  Failure,
  ForeignKeyViolation,
  notFound,
  overloaded,
  referenceConflict,
  validationFailed,
} from '../errors.ts'
import { type Form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { boolean } from '../forms/rules.ts'
import { rejectIfMatch } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import type { Fields } from '../http/form-encoding.ts'
import { addHeader, sendJson } from '../http/response.ts'
import type { IdempotentRequests } from '../idempotency/store.ts'
import { Ticks } from '../lib/periodic.ts'
import { Semaphore } from '../lib/semaphore.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage, Transaction } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import type { LinkActions } from './actions.ts'
import {
  atomicQuery,
  changeForm,
  deleteLinks,
  deletionForm,
  linksForm,
  type NewRow,
  setForm,
  storeLinks,
  updateLinks,
} from './bulk-schema.ts'
import { findUnknownTags } from './link-tags.ts'
import { unknownTagsFor } from './routes.ts'
import { type Link, type LinkRow, linkOf } from './schema.ts'
import { lockLinks, removeLink } from './store.ts'

interface Parts {
  readonly api: Api
  readonly storage: Storage
  readonly idempotentRequests: IdempotentRequests
  readonly actions: LinkActions
  readonly shortUrl: ShortUrl
}

/** A row to apply. `apply` throws the failure of the row, or returns the stored link, if it still exists. */
interface BulkRow {
  readonly id?: number
  readonly apply: (tx: Transaction) => Promise<LinkRow | null>
}

interface BulkRequest {
  readonly rows: readonly BulkRow[]
  /** The status of a successful row. */
  readonly status: number
  /** Called for each applied row after the commit. */
  readonly onApplied: (row: RowResult) => void
}

/** The result of a row, as in the response. A failed row has a code. */
interface RowResult {
  readonly index: number
  readonly id?: number
  readonly status: number
  readonly data?: Link
  readonly code?: ErrorCode
  readonly message?: string
  readonly violations?: readonly Pick<Violation, 'field' | 'code' | 'message'>[]
}

/** Adds the three bulk requests. */
export function bulkRoutes(parts: Parts): void {
  const { api, storage, actions } = parts
  const onStored = ({ data }: RowResult) => data && actions.onStored(data)

  api.add(storeLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, linksForm, async ({ links }) => {
      const { account, scopes } = admitted.caller
      const ticks = new Ticks()
      const rows: BulkRow[] = []
      // Passwords are hashed here, one after another, so that other accounts get their turn.
      for (const link of links) {
        rows.push({ apply: await preparedInsertion(actions, account, link, unknownTagsFor(scopes)) })
        await ticks.next()
      }
      return { rows, status: 201, onApplied: onStored }
    }),
  )

  api.add(updateLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, changeForm, async (values) => {
      const { account, scopes } = admitted.caller
      const { ids, add_tags, remove_tags } = values
      const unknownTags = unknownTagsFor(scopes)
      const reading = setForm.read(values.set)
      const violations = await setViolations(storage, account, values, unknownTags, reading)
      if (violations.length > 0) throw validationFailed(violations)
      const isTagged = add_tags.length + remove_tags.length > 0
      const tags = isTagged ? { add: add_tags, remove: remove_tags } : undefined
      const change = await namingSet(() => actions.changeOfMany(account, reading, unknownTags, tags))
      const rows = ids.map((id) => ({ id, apply: async (tx: Transaction) => (await change(tx, id)).record }))
      return { rows, status: 200, onApplied: onStored }
    }),
  )

  api.add(deleteLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, deletionForm, async ({ ids }) => {
      const remove = (id: number) => async (tx: Transaction) => {
        if (!(await removeLink(tx, admitted.caller.account, id, null))) throw notFound('link')
        return null
      }
      const rows = ids.map((id) => ({ id, apply: remove(id) }))
      return { rows, status: 204, onApplied: ({ id = 0 }) => actions.onRemoved(id) }
    }),
  )
}

/** Returns the insertion of a row. Throws nothing, because each row has its own failure. */
async function preparedInsertion(
  actions: LinkActions,
  account: number,
  row: NewRow,
  unknownTags: ReturnType<typeof unknownTagsFor>,
): Promise<BulkRow['apply']> {
  try {
    if (row instanceof Failure) throw row
    requirePassword(row)
    const insert = await actions.insertion(account, row, unknownTags)
    return async (tx) => (await insert(tx)).record
  } catch (error) {
    const failure = failureOfRow(error)
    return async () => {
      throw failure
    }
  }
}

/** The flag in a record that a client sends back. It is ignored, like every field that the server assigns, if it is invalid. */
const hasPassword = optional(boolean(Type.Boolean()), false)

/** Throws `validation_failed` for a stored link without its password, which no response has. */
export function requirePassword({ has_redirect_password: has, redirect_password: password }: Fields): void {
  if (hasPassword.read(has) !== true || (typeof password === 'string' && password.trim() !== '')) return
  throw validationFailed([new Refusal('required').at('redirect_password')])
}

/** Returns the violations of `set` and of tags, which reject the whole request. */
async function setViolations(
  storage: Storage,
  account: number,
  { add_tags, remove_tags }: { readonly add_tags: readonly string[]; readonly remove_tags: readonly string[] },
  unknownTags: ReturnType<typeof unknownTagsFor>,
  { values, violations }: ReturnType<typeof setForm.read>,
): Promise<Violation[]> {
  const all = violations.map(inSet)
  if (values.tags !== undefined && add_tags.length + remove_tags.length > 0) {
    all.push(new Refusal('not_allowed.with_tags').at('set.tags'))
  }
  if (unknownTags === 'create') return all
  for (const [field, names] of [
    ['set.tags', values.tags ?? []],
    ['add_tags', add_tags],
  ] as const) {
    const [name] = await findUnknownTags(storage, account, names)
    if (name !== undefined) all.push(new Refusal('unknown_tag.name', { name }).at(field))
  }
  return all
}

function inSet({ field, refusal }: Violation): Violation {
  return refusal.at(`set.${field}`)
}

/** Names the fields of violations `set.url` instead of `url`. */
async function namingSet<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'validation_failed')) throw error
    throw validationFailed((error.facts.violations ?? []).map(inSet))
  }
}

/** One after another, so that other writes get their turn: those of the same commit wait for all rows. */
export const transactions = new Semaphore({
  concurrency: 1,
  maxQueue: 32,
  maxQueuePerKey: 4,
  rejection: () => overloaded('Too many bulk requests are waiting. Try again shortly.'),
})

/** Checks a bulk request, applies its rows in one transaction, and sends their results. */
async function runBulk<Values extends object>(
  { api, idempotentRequests, shortUrl }: Parts,
  exchange: Exchange,
  admitted: Admitted,
  bodyForm: Form<Values>,
  prepare: (values: Values) => Promise<BulkRequest>,
): Promise<Failure | undefined> {
  const { caller, fields } = admitted
  rejectIfMatch(exchange)
  const key = idempotencyKeyOf(exchange)
  const query = atomicQuery.read(exchange.query)
  const body = bodyForm.read(fields)
  const violations = [...query.violations, ...body.violations]
  if (violations.length > 0) return validationFailed(violations)
  const values = body.values as Values
  const count = Object.values(values).find(Array.isArray)?.length ?? 1
  const limited = api.countRows(exchange, caller, count)
  if (limited !== undefined) return limited
  const request = await prepare(values)
  const sent = fields.csv instanceof Table ? { links: fields.csv } : fields
  const claim = claimOf(exchange, { caller, fields: sent }, key, bodyForm)
  const existing = request.rows.flatMap(({ id = [] }) => id)
  let applied: readonly RowResult[] = []
  const response = await transactions.run(
    () =>
      idempotentRequests.run(claim, (db) =>
        db.write(async (tx) => {
          await lockLinks(tx, caller.account, existing)
          const { results, texts, violations } = await applyRows(tx, request, shortUrl)
          if (query.values.atomic && violations.length > 0) throw rejected(results, violations)
          applied = results.filter(({ code }) => code === undefined)
          const meta = { succeeded: applied.length, failed: results.length - applied.length }
          const body = `{"data":[${texts.join(',')}],"meta":${JSON.stringify(meta)}}`
          return { status: 200, location: '', etag: '', body }
        }),
      ),
    String(caller.account),
  )
  if (response.isReplayed) {
    addHeader(exchange, 'idempotency-replayed', 'true')
  } else {
    const ticks = new Ticks()
    for (const row of applied) {
      request.onApplied(row)
      await ticks.next()
    }
  }
  return sendJson(exchange, 200, response.body)
}

/** Violations in one response. When there are more, each further row shows only its first. */
const maxViolations = 2_000

/** Returns the result of each row, also as JSON, and the violations of all rows for `bulk_rejected`. */
async function applyRows(tx: Transaction, { rows, status }: BulkRequest, shortUrl: ShortUrl) {
  const results: RowResult[] = []
  const texts: string[] = []
  const violations: Violation[] = []
  const ticks = new Ticks()
  for (const [index, { id, apply }] of rows.entries()) {
    const head = { index, ...(id !== undefined && { id }) }
    let result: RowResult
    try {
      const link = await tx.attempt(apply)
      result = { ...head, status, ...(link && { data: linkOf(link, shortUrl) }) }
    } catch (error) {
      const { code, message, facts } = failureOfRow(error)
      const shown = facts.violations?.slice(0, Math.max(1, maxViolations - violations.length)) ?? []
      result = { ...head, ...shownFailure({ code, message, violations: shown }) }
      violations.push(...violationsOfRow(code, shown, index, id))
    }
    results.push(result)
    texts.push(JSON.stringify(result))
    await ticks.next()
  }
  return { results, texts, violations }
}

/** Returns the failure of a row. Throws errors that concern the whole request. */
function failureOfRow(error: unknown): Failure {
  if (error instanceof ForeignKeyViolation) return referenceConflict()
  if (error instanceof Failure && failures[error.code].status < 500) return error
  throw error
}

function shownFailure({ code, message, violations }: Required<Pick<RowResult, 'code' | 'message' | 'violations'>>) {
  const { status } = failures[code]
  const shown = violations.map(({ field, code, message }) => ({ field, code, message }))
  return { status, code, message, ...((status === 422 || status === 409) && { violations: shown }) }
}

/** Returns the violations of a failed row, with the place of the row in the list of the request. */
function violationsOfRow(
  code: ErrorCode,
  violations: readonly Violation[],
  index: number,
  id: number | undefined,
): Violation[] {
  if (id !== undefined) {
    const field = `ids.${index}`
    const [first = new Refusal('unknown_link', { id }).at(field), ...others] = violations
    return [first, ...others].map((violation) => ({ ...violation, field }))
  }
  const row = `links.${index}`
  if (code === 'malformed_body') return [new Refusal('malformed_row.json').at(row)]
  return violations.map(({ field, refusal }) => refusal.at(`${row}.${field}`))
}

/** Returns `bulk_rejected`. The rows without an error have 424. */
function rejected(results: readonly RowResult[], violations: readonly Violation[]): Failure {
  const message = 'Nothing was changed, because other rows have errors.'
  const data = results.map(({ data: _, ...row }) =>
    row.code === undefined ? { ...row, status: 424, code: 'not_applied', message } : row,
  )
  const failed = results.filter(({ code }) => code !== undefined).length
  return bulkRejected(violations, { data, meta: { succeeded: 0, failed } })
}
