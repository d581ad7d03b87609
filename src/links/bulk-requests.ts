/** Bulk requests: `POST` and `PATCH /links/bulk`, and `POST /links/bulk/delete`. Each is one transaction. */

import type { Actor } from '../access/actor.ts'
import { Table } from '../api/body.ts'
import { claimForm, readIdempotencyKey } from '../api/idempotency.ts'
import type { Admitted } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { Failure, validationFailed } from '../errors.ts'
import { type Form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { boolean } from '../forms/rules.ts'
import { rejectIfMatch } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import type { Fields } from '../http/form-encoding.ts'
import { addHeader, sendJson } from '../http/response.ts'
import type { IdempotentRequests } from '../idempotency/store.ts'
import { trimText } from '../lib/text.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Storage } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import type { LinkActions } from './actions.ts'
import type { BatchChange } from './batch.ts'
import type { BatchWorker } from './batch-worker.ts'
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
import { canCreateTags, findUnknownTags } from './link-tags.ts'
import type { NewLink } from './schema.ts'

interface Parts {
  readonly api: Api
  readonly storage: Storage
  readonly idempotentRequests: IdempotentRequests
  readonly actions: LinkActions
  readonly batches: BatchWorker
}

/** Adds the three bulk requests. */
export function bulkRoutes(parts: Parts): void {
  const { api, storage, actions } = parts

  api.add(storeLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, linksForm, async ({ links }) => {
      const { account } = admitted.actor
      const rows = await prepareRows(actions, account, links)
      return { kind: 'store', rows }
    }),
  )

  api.add(updateLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, changeForm, async (sent) => {
      const { actor } = admitted
      const { ids, add_tags, remove_tags } = sent
      const reading = setForm.read(sent.set)
      const violations = await setViolations(storage, actor, sent, reading)
      if (violations.length > 0) throw validationFailed(violations)
      const values = await namingSet(() => actions.prepareChange(actor.account, reading))
      const tags = add_tags.length + remove_tags.length > 0 ? { add: add_tags, remove: remove_tags } : undefined
      return { kind: 'update', ids, values, tags }
    }),
  )

  api.add(deleteLinks, (exchange, admitted) =>
    runBulk(parts, exchange, admitted, deletionForm, async ({ ids }) => ({ kind: 'delete', ids })),
  )
}

/** Violations in one response. When there are more, each further row shows only its first. */
const maxViolations = 2_000

/** Checks the fields of new links by themselves. Returns each link, or the failure of its row. */
async function prepareRows(
  actions: LinkActions,
  account: number,
  rows: readonly NewRow[],
): Promise<(NewLink | Failure)[]> {
  const ticks = new Ticks()
  const prepared: (NewLink | Failure)[] = []
  let shown = 0
  // Passwords are hashed here, one after another, so that other accounts get their turn.
  for (const row of rows) {
    const link = await prepareRow(actions, account, row)
    prepared.push(link instanceof Failure ? withViolations(link, Math.max(1, maxViolations - shown)) : link)
    if (link instanceof Failure) shown += link.facts.violations?.length ?? 0
    await ticks.next()
  }
  return prepared
}

async function prepareRow(actions: LinkActions, account: number, row: NewRow): Promise<NewLink | Failure> {
  if (row instanceof Failure) return row
  try {
    requirePassword(row)
    return await actions.prepare(account, row)
  } catch (error) {
    if (error instanceof Failure && failures[error.code].status < 500) return error
    throw error
  }
}

/** Returns a failure that names at most this many violations. */
function withViolations(failure: Failure, most: number): Failure {
  const { code, message, facts } = failure
  return new Failure(
    code,
    message,
    facts.violations ? { ...facts, violations: facts.violations.slice(0, most) } : facts,
  )
}

/** The flag in a record that a client sends back. It is ignored, like every field that the server assigns, if it is invalid. */
const hasPassword = optional(boolean(Type.Boolean()), false)

/** Throws `validation_failed` for a stored link without its password, which no response has. */
export function requirePassword({ has_redirect_password: has, redirect_password: password }: Fields): void {
  if (hasPassword.read(has) !== true || (typeof password === 'string' && trimText(password) !== '')) return
  throw validationFailed([new Refusal('required').at('redirect_password')])
}

/** Returns the violations of `set` and of tags, which reject the whole request. */
async function setViolations(
  storage: Storage,
  actor: Actor,
  { add_tags, remove_tags }: { readonly add_tags: readonly string[]; readonly remove_tags: readonly string[] },
  { values, violations }: ReturnType<typeof setForm.read>,
): Promise<Violation[]> {
  const all = violations.map(inSet)
  if (values.tags !== undefined && add_tags.length + remove_tags.length > 0) {
    all.push(new Refusal('not_allowed.with_tags').at('set.tags'))
  }
  if (canCreateTags(actor)) return all
  for (const [field, names] of [
    ['set.tags', values.tags ?? []],
    ['add_tags', add_tags],
  ] as const) {
    const [name] = await findUnknownTags(storage, actor.account, names)
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

/** Checks a bulk request, applies its rows in one transaction, and sends their results. */
async function runBulk<Values extends object>(
  { api, idempotentRequests, batches }: Parts,
  exchange: Exchange,
  admitted: Admitted,
  bodyForm: Form<Values>,
  prepare: (values: Values) => Promise<BatchChange>,
): Promise<Failure | undefined> {
  const { actor, fields } = admitted
  rejectIfMatch(exchange)
  const key = readIdempotencyKey(exchange, actor)
  const query = atomicQuery.read(exchange.query)
  const body = bodyForm.read(fields)
  const violations = [...query.violations, ...body.violations]
  if (violations.length > 0) return validationFailed(violations)
  const values = body.values as Values
  const count = Object.values(values).find(Array.isArray)?.length ?? 1
  const limited = api.countRows(exchange, actor, count)
  if (limited !== undefined) return limited
  const change = await prepare(values)
  const sent = fields.csv instanceof Table ? { links: fields.csv } : fields
  const claim = claimForm(exchange, sent, key, bodyForm)
  const request = { actor, change, isAtomic: query.values.atomic ?? false, claim, hasResults: true }
  const { body: json, isReplayed } = await idempotentRequests.exclusively(claim, () => batches.run(request))
  if (isReplayed) addHeader(exchange, 'idempotency-replayed', 'true')
  return sendJson(exchange, 200, json)
}
