/** Bulk requests: `POST` and `PATCH /links/bulk`, and `POST /links/bulk/delete`. Each is one transaction. */
import { Table } from '../api/body.ts'
import { claimOf, idempotencyKeyOf } from '../api/idempotency.ts'
import type { Admitted, Body, Operation } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import {
  bulkRejected,
  Failure,
  ForeignKeyViolation,
  overloaded,
  referenceConflict,
  validationFailed,
} from '../errors.ts'
import type { Form } from '../forms/form.ts'
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
import { type LinkRow, linkOf } from './schema.ts'
import { lockLinks } from './store.ts'

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
  readonly operation: Operation & { readonly body: Body }
  /** The status of a successful row. */
  readonly status: number
  /** The name of the list in the body, for the violations of rows. */
  readonly field: 'links' | 'ids'
  /** Called for each applied row after the commit. */
  readonly onApplied: (row: LinkRow | null, id: number | undefined) => void
}

/** Adds the three bulk requests. */
export function bulkRoutes(parts: Parts): void {
  addStore(parts)
  addUpdate(parts)
  addDeletion(parts)
}

function addStore(parts: Parts): void {
  const { api, actions } = parts
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
      return {
        rows,
        operation: storeLinks,
        status: 201,
        field: 'links',
        onApplied: (link) => link && actions.onStored(link),
      }
    }),
  )
}

function addUpdate(parts: Parts): void {
  const { api, storage, actions } = parts
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
      return {
        rows: ids.map((id) => ({ id, apply: async (tx) => (await change(tx, id)).record })),
        operation: updateLinks,
        status: 200,
        field: 'ids',
        onApplied: (link) => link && actions.onStored(link),
      }
    }),
  )
}

function addDeletion(parts: Parts): void {
  const { api, actions } = parts
  api.add(deleteLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, deletionForm, async ({ ids }) => {
      const { account } = admitted.caller
      const remove = (id: number) => async (tx: Transaction) => {
        await actions.removeIn(tx, account, id, null)
        return null
      }
      return {
        rows: ids.map((id) => ({ id, apply: remove(id) })),
        operation: deleteLinks,
        status: 204,
        field: 'ids',
        onApplied: (_, id) => id !== undefined && actions.onRemoved(id),
      }
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

/** Throws `validation_failed` for a stored link without its password, which no response has. */
export function requirePassword({ has_redirect_password: has, redirect_password: password }: Fields): void {
  const isProtected = ['true', '1'].includes(String(has).trim())
  if (!isProtected || (typeof password === 'string' && password.trim() !== '')) return
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
  const claim = claimOf(exchange, { caller, fields: sent }, key, request.operation.body.form)
  const existing = request.rows.flatMap(({ id = [] }) => id)
  let applied: BulkOutcome['applied'] = []
  const response = await transactions.run(
    () =>
      idempotentRequests.run(claim, (db) =>
        db.write(async (tx) => {
          await lockLinks(tx, caller.account, existing)
          const outcome = await applyRows(tx, request, shortUrl)
          if (query.values.atomic && outcome.violations.length > 0) throw rejected(request, outcome)
          applied = outcome.applied
          const counts = { succeeded: applied.length, failed: request.rows.length - applied.length }
          const text = `{"data":[${outcome.results.join(',')}],"meta":${JSON.stringify(counts)}}`
          return { status: 200, location: '', etag: '', body: text }
        }),
      ),
    String(caller.account),
  )
  const ticks = new Ticks()
  if (!response.isReplayed) {
    for (const { link, id } of applied) {
      request.onApplied(link, id)
      await ticks.next()
    }
  }
  if (response.isReplayed) addHeader(exchange, 'idempotency-replayed', 'true')
  return sendJson(exchange, 200, response.body)
}

interface BulkOutcome {
  /** The result of each row, as JSON. */
  readonly results: string[]
  readonly applied: { readonly link: LinkRow | null; readonly id: number | undefined }[]
  /** The errors of all rows, for `bulk_rejected`. */
  readonly violations: Violation[]
  /** The results of failed rows by index. */
  readonly failed: Map<number, object>
}

/** Violations in one response. When there are more, each further row shows only its first. */
const maxViolations = 2_000

async function applyRows(
  tx: Transaction,
  { rows, status, field }: BulkRequest,
  shortUrl: ShortUrl,
): Promise<BulkOutcome> {
  const outcome: BulkOutcome = { results: [], applied: [], violations: [], failed: new Map() }
  const ticks = new Ticks()
  for (const [index, { id, apply }] of rows.entries()) {
    const head = { index, ...(id !== undefined && { id }) }
    try {
      const link = await tx.attempt(apply)
      outcome.applied.push({ link, id })
      outcome.results.push(JSON.stringify({ ...head, status, ...(link && { data: linkOf(link, shortUrl) }) }))
    } catch (error) {
      const { code, message, facts } = failureOfRow(error)
      const shown = facts.violations?.slice(0, Math.max(1, maxViolations - outcome.violations.length)) ?? []
      const failure = { code, message, violations: shown }
      const result = { ...head, ...shownFailure(failure) }
      outcome.failed.set(index, result)
      outcome.results.push(JSON.stringify(result))
      outcome.violations.push(...violationsOfRow(failure, `${field}.${index}`, id))
    }
    await ticks.next()
  }
  return outcome
}

/** Returns the failure of a row. Throws errors that concern the whole request. */
function failureOfRow(error: unknown): Failure {
  if (error instanceof ForeignKeyViolation) return referenceConflict()
  if (error instanceof Failure && failures[error.code].status < 500) return error
  throw error
}

type RowFailure = Pick<Failure, 'code' | 'message'> & { readonly violations: readonly Violation[] }

function shownFailure({ code, message, violations }: RowFailure): object {
  const { status } = failures[code]
  const shown = violations.map(({ field, code, message }) => ({ field, code, message }))
  return { status, code, message, ...((status === 422 || status === 409) && { violations: shown }) }
}

function violationsOfRow({ code, violations }: RowFailure, row: string, id: number | undefined): Violation[] {
  if (id !== undefined) {
    const [first = new Refusal('unknown_link', { id }).at(row), ...others] = violations
    return [first, ...others].map((violation) => ({ ...violation, field: row }))
  }
  if (code === 'malformed_body') return [new Refusal('malformed_row.json').at(row)]
  return violations.map(({ field, refusal }) => refusal.at(`${row}.${field}`))
}

/** Returns `bulk_rejected`. The rows without an error have 424. */
function rejected({ rows }: BulkRequest, { violations, failed }: BulkOutcome): Failure {
  const message = 'Nothing was changed, because other rows have errors.'
  const data = rows.map(({ id }, index) => {
    return failed.get(index) ?? { index, ...(id !== undefined && { id }), status: 424, code: 'not_applied', message }
  })
  return bulkRejected(violations, { data, meta: { succeeded: 0, failed: failed.size } })
}
