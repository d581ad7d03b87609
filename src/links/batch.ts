/**
 * The batch engine: stores, changes or deletes many links of an account in one transaction. It runs few statements, each for
 * many rows, and never waits for the event loop in between, so that it holds the write lock for a short time.
 */
import type { Actor } from '../access/actor.ts'
import { Failure, notFound, UniqueViolation, validationFailed } from '../errors.ts'
import { updatedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { type Claim, runOnce } from '../idempotency/store.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { warningsAbout } from '../warnings.ts'
import { type AppliedRow, changeViolations, type LinkRules } from './actions.ts'
import { changeAddresses, furtherShortUrls } from './addresses.ts'
import { type Insertion, insertion } from './batch-insertion.ts'
import { type Outcome, rejected, resultsText, type WarningsOf } from './batch-results.ts'
import { changeLinks, lockDomains, lockSpaces } from './batch-store.ts'
import { deleteLinks } from './deletion.ts'
import { setTagsOfLinks, type TagChange, tooManyTags } from './link-tags.ts'
import { findLinkWarnings } from './link-warnings.ts'
import { type ReplacedDestinations, type Replacement, replacedDestinations } from './replacement.ts'
import { type LinkChange, type LinkRow, linkEvents } from './schema.ts'
import { type LinkDomain, linkRecords, lockLinks, unknownDomain, unknownSpace } from './store.ts'

/** A change of many links. */
interface Update {
  readonly kind: 'update'
  readonly ids: readonly number[]
  /** The new values of every link. The password is a hash. */
  readonly values: LinkChange & { readonly domain_id?: number }
  /** What is replaced in the destination of every link, instead of a new one in `values`. */
  readonly replacement?: Replacement | undefined
  /** Whether links that move keep their previous addresses as further ones. */
  readonly keepsAddresses?: boolean | undefined
  /** Names of tags that every link gets and loses. */
  readonly tags?: TagChange | undefined
}

/** What happens to the rows of a batch. */
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
}

/** Runs a batch, in the thread or on the connection of a command. */
export type RunBatch = (request: BatchRequest) => Promise<BatchResponse>

/** The outcome of each row, and the number of links that are stored, changed or deleted. */
interface Result {
  readonly outcomes: readonly Outcome[]
  readonly changed: number
}

const empty = { status: 200, location: '', etag: '', body: '' }

/**
 * Applies a batch in one transaction, and returns the response of the API. Throws `bulk_rejected` if the batch is atomic and a
 * row fails; then nothing is stored. Throws like `runOnce`.
 */
export async function runBatch(
  db: Pick<Db, 'write'>,
  { actor, change, isAtomic, claim, hasResults }: BatchRequest,
  rules: LinkRules,
): Promise<BatchResponse> {
  const ids = change.kind === 'store' ? null : change.ids
  const rows = { ids, status: statuses[change.kind] }
  let warningsOf: WarningsOf = () => []
  const answer = (outcomes: readonly Outcome[]) =>
    hasResults ? { ...empty, body: resultsText(outcomes, rows, { shortUrl: rules.shortUrl, warningsOf }) } : empty
  const apply = application(actor, change, rules)
  let result: Result = { outcomes: [], changed: 0 }
  const findWarnings = (tx: Db) => findRowWarnings(tx, actor, change, result.outcomes, rules)
  const stored = await retried(() =>
    runOnce(db, claim, async (tx) => {
      result = await apply(tx)
      if (isAtomic && result.outcomes.some(isFailure)) throw rejected(result.outcomes, rows)
      // Other writes wait for the end of the transaction. Without a claim, they need not wait for the response.
      if (claim === null) return empty
      if (hasResults) warningsOf = await findWarnings(tx)
      return answer(result.outcomes)
    }),
  )
  // A request that fails has stored nothing, so a failure after the commit only leaves out the warnings.
  if (claim === null && hasResults) warningsOf = await db.write(findWarnings).catch(() => warningsOf)
  const bodyOf = (text: string) => new TextEncoder().encode(text)
  if (stored.isReplayed) return { body: bodyOf(stored.body), isReplayed: true, applied: [], changed: 0 }
  const { outcomes, changed } = result
  return {
    body: bodyOf(claim === null ? answer(outcomes).body : stored.body),
    isReplayed: false,
    applied: outcomes.flatMap((outcome, at) => (isFailure(outcome) ? [] : [appliedRow(outcome, ids?.[at] ?? 0)])),
    changed,
  }
}

/** Returns a function that returns the warnings about the values that a batch has stored in a link. */
async function findRowWarnings(
  tx: Db,
  { account }: Actor,
  change: BatchChange,
  outcomes: readonly Outcome[],
  { shortUrl }: LinkRules,
): Promise<WarningsOf> {
  if (change.kind === 'delete') return () => []
  const links = outcomes.flatMap((outcome) => (outcome === null || isFailure(outcome) ? [] : [outcome.record]))
  const warningsOf = await findLinkWarnings(tx, account, links, { shortUrl, isFromFile: change.kind === 'store' })
  if (change.kind === 'store') return warningsOf
  // A link that only loses tags gets no value.
  const set = { ...change.values, ...(change.tags?.add.length && { tags: change.tags.add }) }
  return (link) => warningsAbout(warningsOf(link), set)
}

function isFailure(outcome: Outcome): outcome is Failure {
  return outcome instanceof Failure
}

/** Runs a transaction again if another one has taken an alias meanwhile, which it then finds. */
async function retried<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
    return run()
  }
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

async function updateRows(tx: Db, actor: Actor, change: Update, rules: LinkRules): Promise<Result> {
  const { account } = actor
  const { ids } = change
  const { tags: replaced, ...values } = change.values
  await lockLinks(tx, account, ids)
  const links = await linkRecords.findAll(tx, account, ids)
  const { possible, failures, replaced: destinations } = await planUpdate(tx, account, change, links, rules)
  const { moved, clashing } = await moveLinks(tx, account, change, possible, links)
  for (const [id, failure] of clashing) failures.set(id, failure)
  const names = change.tags ?? replaced
  const rest = possible.filter((id) => !failures.has(id))
  const tagged = names && (await setTagsOfLinks(tx, actor, rest, names))
  if (tagged !== undefined && tagged.failed.size > 0 && moved.size > 0) throw tooManyTags()
  for (const id of tagged?.failed ?? []) failures.set(id, tooManyTags())
  const changed = await changeLinks(
    tx,
    actor,
    rest.filter((id) => !failures.has(id)),
    values,
    {
      links,
      destinations,
      moved,
      tagged: tagged?.changed ?? new Set(),
    },
  )
  const events = changed.entries().map(([id, { record }]) => {
    const before = links.get(id)?.record ?? record
    const { before: old = null, after = null } = moved.get(id)?.addresses ?? {}
    return updatedEvent(linkEvents, { ...before, addresses: old }, { ...record, addresses: after })
  })
  const recorded = await recordEvents(tx, actor, events)
  const outcomes = ids.map((id) => failures.get(id) ?? changed.get(id) ?? notFound('link'))
  return { outcomes, changed: recorded }
}

/** Changes the main addresses of links if the change requires it: see `changeAddresses`. */
async function moveLinks(
  tx: Db,
  account: number,
  { values: { domain_id, exact }, keepsAddresses = false }: Update,
  ids: readonly number[],
  links: ReadonlyMap<number, Versioned<LinkRow>>,
): ReturnType<typeof changeAddresses> {
  if (domain_id === undefined && exact === undefined) return { moved: new Map(), clashing: new Map() }
  const moving = ids.flatMap((id) => links.get(id)?.record ?? [])
  return changeAddresses(tx, account, moving, { domain_id, exact, keepsAddress: keepsAddresses })
}

/** Returns the links that can be changed, why the others can't, and the destinations after replacements. */
async function planUpdate(
  tx: Db,
  account: number,
  { ids, values, replacement, keepsAddresses }: Update,
  links: ReadonlyMap<number, Versioned<LinkRow>>,
  rules: LinkRules,
) {
  const space = values.space_id ?? null
  const hasSpace = space === null || (await lockSpaces(tx, account, [space])).has(space)
  const previous = keepsAddresses ? [...links.values()].map(({ record }) => record.domain_id) : []
  const domain = await targetDomain(tx, account, values.domain_id, previous)
  const mayLoop = [values.url, values.rules, values.domain_id, replacement].some((value) => value !== undefined)
  const further = await furtherShortUrls(tx, account, mayLoop ? ids : [], rules.shortUrl)
  const replaced = new Map<number, ReplacedDestinations>()
  const failureOf = (link: LinkRow | undefined) => {
    // The domain of a link without its name is being removed.
    if (link?.domain_name == null) return notFound('link')
    const violations = hasSpace ? [] : [unknownSpace(space)]
    const change = domain === undefined ? values : { ...values, domain_name: domain.name }
    const others = further.get(link.id)
    violations.push(...changeViolations(link, change, others ?? [], rules.shortUrl))
    const after = replacement && replacedDestinations(link, replacement, rules, others)
    if (after !== undefined && 'code' in after) violations.push(after)
    else if (after !== undefined) replaced.set(link.id, after)
    return violations.length > 0 ? validationFailed(violations) : null
  }
  const failures = new Map<number, Failure>()
  const possible = ids.filter((id) => {
    const failure = failureOf(links.get(id)?.record)
    return failure === null || (failures.set(id, failure) && false)
  })
  return { possible, failures, replaced }
}

/**
 * Returns the domain that links move to, and locks it together with those where they keep addresses, in one order for all
 * transactions. Throws `validation_failed` if it is gone.
 */
async function targetDomain(
  tx: Db,
  account: number,
  id: number | undefined,
  previous: readonly number[],
): Promise<LinkDomain | undefined> {
  if (id === undefined) return undefined
  const domain = (await lockDomains(tx, account, new Set([id, ...previous]), { isAlone: true })).get(id)
  if (domain === undefined) throw validationFailed([unknownDomain(id)])
  return domain
}
