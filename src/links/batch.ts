/**
 * The batch engine: stores, changes or deletes many links of an account in one transaction. It runs few statements, each for
 * many rows, and never waits for the event loop in between, so that it holds the write lock for a short time.
 */
import { type Failure, notFound, validationFailed } from '../errors.ts'
import { type Claim, type OnceResult, runOnce } from '../idempotency/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { type AppliedRow, changeViolations } from './actions.ts'
import { type Insertion, storeRows } from './batch-insertion.ts'
import { type Outcome, type RowResult, rejected, resultsOf } from './batch-results.ts'
import { changeLinks, lockLinks, lockSpaces, removeLinks } from './batch-store.ts'
import { setTagsOfLinks, type TagChange, tooManyTags, type UnknownTags } from './link-tags.ts'
import type { LinkChange } from './schema.ts'
import { linkRecords, unknownSpace } from './store.ts'

/** A change of many links. */
interface Update {
  readonly kind: 'update'
  readonly ids: readonly number[]
  /** The new values of every link. The password is a hash. */
  readonly values: LinkChange
  /** Names of tags that every link gets and loses. */
  readonly tags: TagChange | undefined
  readonly unknownTags: UnknownTags
}

/** What happens to the rows of a batch. */
export type BatchChange = Insertion | Update | { readonly kind: 'delete'; readonly ids: readonly number[] }

/** The status of a successful row. */
const statuses = { store: 201, update: 200, delete: 204 } as const

export interface BatchRequest {
  readonly account: number
  readonly change: BatchChange
  /** Whether no row is applied if one of them fails. */
  readonly isAtomic: boolean
  readonly claim: Claim | null
}

export interface BatchResponse {
  readonly response: OnceResult
  /** The rows that were applied. Empty if the response is a replay. */
  readonly applied: readonly AppliedRow[]
}

/**
 * Applies a batch in one transaction, and returns the response of the API. Throws `bulk_rejected` if the batch is atomic and a
 * row fails; then nothing is stored. Throws like `runOnce`.
 */
export async function runBatch(
  db: Pick<Db, 'write'>,
  request: BatchRequest,
  shortUrl: ShortUrl,
): Promise<BatchResponse> {
  const { account, change, isAtomic, claim } = request
  let applied: readonly AppliedRow[] = []
  const response = await runOnce(db, claim, async (tx) => {
    const outcomes = await apply(tx, account, change, shortUrl)
    const rows = { ids: change.kind === 'store' ? null : change.ids, status: statuses[change.kind] }
    const { results, violations } = resultsOf(outcomes, rows, shortUrl)
    if (isAtomic && violations.length > 0) throw rejected(results, violations)
    applied = results.filter(({ code }) => code === undefined).map(appliedRow)
    const meta = { succeeded: applied.length, failed: results.length - applied.length }
    return { status: 200, location: '', etag: '', body: JSON.stringify({ data: results, meta }) }
  })
  return { response, applied: response.isReplayed ? [] : applied }
}

/** Returns only what the event loop needs, because threads copy their messages, and a record may have 17 KB. */
function appliedRow({ id, data }: RowResult): AppliedRow {
  if (data === undefined) return { id: id ?? 0, stored: null }
  return { id: data.id, stored: { id: data.id, domain_id: data.domain_id, alias: data.alias } }
}

async function apply(tx: Db, account: number, change: BatchChange, shortUrl: ShortUrl): Promise<Outcome[]> {
  switch (change.kind) {
    case 'store':
      return storeRows(tx, account, change, shortUrl)
    case 'update':
      return updateRows(tx, account, change, shortUrl)
    case 'delete': {
      await lockLinks(tx, account, change.ids)
      const removed = await removeLinks(tx, account, change.ids)
      return change.ids.map((id) => (removed.has(id) ? null : notFound('link')))
    }
  }
}

async function updateRows(tx: Db, account: number, change: Update, shortUrl: ShortUrl): Promise<Outcome[]> {
  const { ids, unknownTags } = change
  const { tags: replaced, ...values } = change.values
  await lockLinks(tx, account, ids)
  const links = await linkRecords.findAll(tx, account, ids)
  const space = values.space_id ?? null
  const hasSpace = space === null || (await lockSpaces(tx, account, [space])).has(space)
  const failures = new Map<number, Failure>()
  const possible = ids.filter((id) => {
    const link = links.get(id)
    // The domain of a link without its name is being removed.
    if (link?.record.domain_name == null) return failures.set(id, notFound('link')) && false
    const violations = hasSpace ? [] : [unknownSpace(space)]
    violations.push(...changeViolations(link.record, values, shortUrl))
    return violations.length === 0 || (failures.set(id, validationFailed(violations)) && false)
  })
  const names = change.tags ?? replaced
  const tagged = names && (await setTagsOfLinks(tx, account, possible, names, unknownTags))
  for (const id of tagged?.failed ?? []) failures.set(id, tooManyTags())
  const [changedTags, others] = [tagged?.changed ?? new Set<number>(), possible.filter((id) => !failures.has(id))]
  const changed = new Map([
    ...(await changeLinks(tx, account, [...changedTags], values, true)),
    ...(await changeLinks(
      tx,
      account,
      others.filter((id) => !changedTags.has(id)),
      values,
      false,
    )),
  ])
  return ids.map((id) => failures.get(id) ?? changed.get(id) ?? notFound('link'))
}
