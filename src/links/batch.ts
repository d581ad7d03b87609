/**
 * The batch engine: stores, changes or deletes many links of an account in one transaction. It runs few statements, each for
 * many rows, and never waits for the event loop in between, so that it holds the write lock for a short time.
 */
import type { Actor } from '../access/actor.ts'
import { Failure, notFound } from '../errors.ts'
import { type Claim, runOnce } from '../idempotency/store.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { warningsAbout } from '../warnings.ts'
import type { AppliedRow } from './actions.ts'
import { type Result, type Update, updateRows } from './batch-changes.ts'
import { type Insertion, insertion } from './batch-insertion.ts'
import { type PreviewedRow, previewChange } from './batch-preview.ts'
import { rejected, resultsText, type WarningsOf } from './batch-results.ts'
import type { Outcome } from './batch-store.ts'
import { deleteLinks } from './deletion.ts'
import type { LinkRules } from './link-violations.ts'
import { findLinkWarnings } from './link-warnings.ts'
import type { LinkRow } from './schema.ts'

/** What happens to a batch's rows. */
export type BatchChange = Insertion | Update | { readonly kind: 'delete'; readonly ids: readonly number[] }

/** The status of a successful row. */
const statuses = { store: 201, update: 200, delete: 204 } as const

export interface BatchRequest {
  readonly actor: Actor
  readonly change: BatchChange
  /** Whether no row is applied if one of them fails. */
  readonly isAtomic: boolean
  readonly claim: Claim | null
  /** Whether the response has the result of each row. Otherwise it is empty. */
  readonly hasResults: boolean
  /** Whether nothing is stored, and the response says what a change would do. */
  readonly isPreview?: boolean
}

export interface BatchResponse {
  /** JSON in UTF-8, because encoding 8 MB would block the event loop that sends it. Empty without results. */
  readonly body: Uint8Array<ArrayBuffer>
  /** Whether the body is the response to an earlier request. */
  readonly isReplayed: boolean
  /** The rows without a failure. Empty if the response is a replay. */
  readonly applied: readonly AppliedRow[]
  /** The number of links that are stored, changed or deleted; the other applied rows had the new values before. */
  readonly changed: number
  /** What a change would do to each link, if that is all that was asked. */
  readonly preview: readonly PreviewedRow[]
}

/** Runs a batch, in the thread or on the connection of a command. */
export type RunBatch = (request: BatchRequest) => Promise<BatchResponse>

/** Without a body, which each response has to own: it moves to another thread. */
const unchanged: Omit<BatchResponse, 'body'> = { isReplayed: false, applied: [], changed: 0, preview: [] }
const empty = { status: 200, location: '', etag: '', body: '' }

/**
 * Applies a batch in one transaction, and returns the response of the API. Throws `bulk_rejected` if the batch is atomic and a
 * row fails; then nothing is stored. Throws like `runOnce`.
 */
export async function runBatch(
  db: Db,
  { actor, change, isAtomic, claim, hasResults, isPreview = false }: BatchRequest,
  rules: LinkRules,
): Promise<BatchResponse> {
  if (isPreview && change.kind === 'update') {
    return { ...unchanged, body: new Uint8Array(), preview: await previewChange(db, actor, change, rules) }
  }
  const ids = change.kind === 'store' ? null : change.ids
  const rows = { ids, status: statuses[change.kind] }
  let warningsOf: WarningsOf = () => []
  const answer = (outcomes: readonly Outcome[]) =>
    hasResults ? { ...empty, body: resultsText(outcomes, rows, { shortUrl: rules.shortUrl, warningsOf }) } : empty
  const apply = application(actor, change, rules)
  let result: Result = { outcomes: [], changed: 0 }
  const findWarnings = (tx: Db) => findRowWarnings(tx, actor, change, result.outcomes, rules)
  const stored = await runOnce(db, claim, async (tx) => {
    result = await apply(tx)
    if (isAtomic && result.outcomes.some(isFailure)) throw rejected(result.outcomes, rows)
    // Other writes wait for the end of the transaction. Without a claim, they need not wait for the response.
    if (claim === null) return empty
    if (hasResults) warningsOf = await findWarnings(tx)
    return answer(result.outcomes)
  })
  // A request that fails has stored nothing, so a failure after the commit only leaves out the warnings.
  if (claim === null && hasResults) warningsOf = await findWarnings(db).catch(() => warningsOf)
  const bodyOf = (text: string) => new TextEncoder().encode(text)
  if (stored.isReplayed) return { ...unchanged, body: bodyOf(stored.body), isReplayed: true }
  const { outcomes, changed } = result
  return {
    body: bodyOf(claim === null ? answer(outcomes).body : stored.body),
    isReplayed: false,
    applied: outcomes.flatMap((outcome, at) => (isFailure(outcome) ? [] : [appliedRow(outcome, ids?.[at] ?? 0)])),
    changed,
    preview: [],
  }
}

/** Returns a function that returns the warnings about the values that a batch has stored in a link. */
async function findRowWarnings(
  db: Db,
  { account }: Actor,
  change: BatchChange,
  outcomes: readonly Outcome[],
  { shortUrl }: LinkRules,
): Promise<WarningsOf> {
  if (change.kind === 'delete') return () => []
  const links = outcomes.flatMap((outcome) => (outcome === null || isFailure(outcome) ? [] : [outcome.record]))
  const warningsOf = await findLinkWarnings(db, account, links, { shortUrl, isFromFile: change.kind === 'store' })
  if (change.kind === 'store') return warningsOf
  // A link that only loses tags gets no value.
  const set = { ...change.values, ...(change.tags?.add.length && { tags: change.tags.add }) }
  return (link) => warningsAbout(warningsOf(link), set)
}

function isFailure(outcome: Outcome): outcome is Failure {
  return outcome instanceof Failure
}

/** Returns only what the event loop needs, because threads copy their messages, and a record may have 17 KB. */
function appliedRow(outcome: Versioned<LinkRow> | null, removed: number): AppliedRow {
  if (outcome === null) return { id: removed, stored: null }
  const { id, domain_id, alias } = outcome.record
  return { id, stored: { id, domain_id, alias } }
}

/** Returns the function that applies a change in a transaction. */
function application(actor: Actor, change: BatchChange, rules: LinkRules): (tx: Db) => Promise<Result> {
  switch (change.kind) {
    case 'store': {
      const store = insertion(actor, change, rules.shortUrl)
      return async (tx) => {
        const outcomes = await store(tx)
        return { outcomes, changed: outcomes.filter((outcome) => !isFailure(outcome)).length }
      }
    }
    case 'update':
      return (tx) => updateRows(tx, actor, change, rules)
    case 'delete':
      return (tx) => deleteRows(tx, actor, change.ids)
  }
}

async function deleteRows(tx: Db, actor: Actor, ids: readonly number[]): Promise<Result> {
  const removed = await deleteLinks(tx, actor, ids, { isPermanent: false, removedDomain: null })
  return { outcomes: ids.map((id) => (removed.has(id) ? null : notFound('link'))), changed: removed.size }
}
