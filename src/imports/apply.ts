/** Applies imports: stores the links of their rows, then the clicks. Each transaction also stores how far it is. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Actor } from '../access/actor.ts'
import { dayMs } from '../accounts/calendar.ts'
import { decodeDay } from '../analytics/day.ts'
import { storeDays } from '../analytics/transfer-store.ts'
import { Failure, importConflict, notFound, validationFailed } from '../errors.ts'
import type { NewEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { pauseMs } from '../jobs/store.ts'
import type { AppliedRow } from '../links/actions.ts'
import { updateRows } from '../links/batch-changes.ts'
import { insertion, type LinkHistory, type LinkInsertion } from '../links/batch-insertion.ts'
import type { Outcome as Stored } from '../links/batch-store.ts'
import type { LinkRules } from '../links/link-violations.ts'
import type { LinkRow, NewLink } from '../links/schema.ts'
import { lockLinks } from '../links/store.ts'
import type { Db } from '../storage/port.ts'
import { readDays } from './days/store.ts'
import { type DecidedRow, type Figures, findDomains, findFigures, type PlanContext } from './decide.ts'
import { newAddresses, readChange, readNewLink } from './links.ts'
import { eachDecided } from './plan.ts'
import { countProvable } from './plan-figures.ts'
import { explainViolation, type Reason } from './refusals.ts'
import { type RowDecision, readRows, type StagedRow, saveRows, setLinks } from './staging/store.ts'
import {
  advance,
  countEvents,
  findLastEvent,
  type Lease,
  lockBatches,
  type StoredImport,
  type Summary,
} from './store.ts'

/** Rows and days in one transaction. 64 rows take about 5 ms, and each table one statement. */
const [rowsTogether, daysTogether] = [64, 100]

interface ApplyParts {
  readonly rules: LinkRules
  /** Gets the links of each transaction after its commit. */
  readonly onApplied: (rows: readonly AppliedRow[]) => void
}

function contextOf({ account }: Actor, planned: StoredImport, rules: LinkRules): PlanContext {
  const { id, options, isCaseSensitive } = planned
  return { account, importId: id, options, isCaseSensitive, rules, domains: new Map() }
}

/** Throws `precondition_failed` if another outcome than planned is right for a row. */
export async function checkImport(db: Db, actor: Actor, planned: StoredImport, rules: LinkRules): Promise<void> {
  await eachDecided(db, contextOf(actor, planned, rules), async (decided, before) => {
    const at = decided.findIndex((row, at) => decidedResult(row) !== decidedResult(before[at] as StagedRow))
    if (at < 0) return
    const { id, line, decision } = decided[at] as DecidedRow
    const place = line === null ? `row ${id}` : `row ${id} (line ${line})`
    const outcomes = `“${before[at]?.decision?.outcome ?? 'undecided'}”, but is “${decision.outcome}” now`
    const message = `The plan no longer holds: the outcome of ${place} was ${outcomes}. Plan the import again.`
    throw new Failure('precondition_failed', message)
  })
}

/** Returns what must not change between the plan and its application. */
function decidedResult({ decision, addresses }: StagedRow): string {
  const outcome = decision?.outcome
  const isNew = outcome === 'store' || outcome === 'rename'
  return JSON.stringify([outcome, isNew && addresses.map(({ alias, exact }) => [alias, exact])])
}

/**
 * Applies the remaining rows and clicks of an import. Throws `import_interrupted` if another process has taken the lease, or if planned
 * rows are gone.
 */
export async function applyImport(
  db: Db,
  actor: Actor,
  planned: StoredImport,
  lease: Lease,
  { rules, onApplied }: ApplyParts,
): Promise<void> {
  const context = contextOf(actor, planned, rules)
  const author = { ...actor, batchId: planned.batchId }
  const summary = await applyAllRows(db, author, context, planned, lease, onApplied)
  const { store, rename, update } = summary.outcomes
  const toStore = store + rename + update
  const rows = summary.stored ?? toStore
  const missing = toStore - rows
  if (missing !== 0) {
    const reason = `The import has stored ${rows} rows, but ${missing} planned ones are gone. Undo what is stored, and send the file again.`
    throw importConflict('import_interrupted', reason)
  }
  await applyAllDays(db, context, planned, lease)
  await db.write(async (tx) => {
    await advance(tx, lease, {})
    const [found] = await lockBatches(tx, lease.account, [planned.batchId])
    // Someone has undone its events in the history meanwhile.
    if (found?.state === 'undone') return advance(tx, lease, { isEnd: true })
    const event: NewEvent = {
      ...{ record: 'import', action: 'applied', id: planned.id, name: planned.source },
      changes: { links: [null, rows] },
    }
    await recordEvents(tx, author, [event])
    const applied_at = new Date().toISOString()
    await advance(tx, lease, { state: 'applied', applied_row: summary.rows, applied_at, isEnd: true })
  })
}

/** Applies rows until none is left. Returns the figures of what is stored. */
async function applyAllRows(
  db: Db,
  author: Actor,
  context: PlanContext,
  planned: StoredImport,
  lease: Lease,
  onApplied: ApplyParts['onApplied'],
): Promise<Summary> {
  let { summary } = planned
  for (let after = planned.appliedRow; ; await wait(pauseMs)) {
    const rows = await readRows(db, planned.id, { after, limit: rowsTogether, only: ['store', 'rename', 'update'] })
    const last = rows.at(-1)?.id
    if (last === undefined) return summary
    const figures = await findFigures(db, planned.id, rows)
    const apply = await prepareRows(db, author, context, rows, figures)
    const step = await db.write(async (tx) => {
      const before = await findLastEvent(tx, author)
      const { applied, failed } = await apply(tx)
      const count = summary.stored === null ? null : summary.stored + applied.length
      const stored = { ...withoutRows(summary, failed, figures), stored: count }
      const events = await countEvents(tx, author, before)
      const done = { done: last, total: planned.summary.rows }
      await advance(tx, lease, { state: 'applying', applied_row: last, summary: stored, events, ...done })
      return { applied, summary: stored }
    })
    after = last
    summary = step.summary
    onApplied(step.applied)
  }
}

/** Returns figures without rows that have failed, whose outcomes become `refuse`. */
function withoutRows(
  { outcomes, ...summary }: Summary,
  failed: readonly StagedRow[],
  figures: ReadonlyMap<number, Figures>,
): Summary {
  const left = { ...summary, outcomes: { ...outcomes, refuse: outcomes.refuse + failed.length } }
  for (const { id, decision, addresses } of failed) {
    const outcome = decision?.outcome ?? 'refuse'
    left.outcomes[outcome] -= 1
    left.provable -= countProvable(addresses)
    if (outcome === 'update') continue
    left.clicks -= figures.get(id)?.clicks ?? 0
    left.click_days -= figures.get(id)?.days ?? 0
    for (const { exact } of newAddresses(addresses)) left[exact ? 'exact' : 'case_insensitive'] -= 1
  }
  return left
}

async function applyAllDays(db: Db, { account }: PlanContext, planned: StoredImport, lease: Lease) {
  for (let after = planned.appliedDay; ; await wait(pauseMs)) {
    const { days, until } = await readDays(db, planned.id, after, daysTogether)
    if (until === null) return
    const facts = days.map(({ link, day, ...json }) => ({ link, day, facts: decodeDay(json) }))
    await db.write(async (tx) => {
      await storeDays(tx, account, facts, { adds: true })
      await advance(tx, lease, { applied_day: until })
    })
    after = until
  }
}

/**
 * Prepares some rows, and returns a function that applies them in a transaction. A row that others have made impossible since the check
 * is refused.
 */
async function prepareRows(
  db: Db,
  author: Actor,
  context: PlanContext,
  rows: readonly StagedRow[],
  figures: ReadonlyMap<number, Figures>,
) {
  const [updated, added] = [rows.filter(isUpdate), rows.filter((row) => !isUpdate(row))]
  const addLinks = await prepareLinks(db, author, context, added, figures)
  return async (tx: Db) => {
    const results = new Map([...(await updateLinks(tx, author, context, updated)), ...(await addLinks(tx))])
    return saveResults(tx, context, rows, results)
  }
}

/** Stores what has become of rows. Returns the applied ones, and those that have failed. */
async function saveResults(tx: Db, context: PlanContext, rows: readonly StagedRow[], results: Results) {
  const applied: AppliedRow[] = []
  const links = new Map<number, number>()
  const refused: StagedRow[] = []
  const failed: StagedRow[] = []
  for (const row of rows) {
    const result = results.get(row.id)
    if (result === undefined || result instanceof Failure) {
      const { code, message } = explainFailure(result)
      const decision = row.decision as RowDecision
      refused.push({ ...row, decision: { ...decision, outcome: 'refuse', code, message } })
      failed.push(row)
    } else {
      const { id, domain_id, alias } = result
      applied.push({ id, stored: { id, domain_id, alias } })
      links.set(row.id, id)
    }
  }
  await saveRows(tx, context.importId, refused)
  await setLinks(tx, context.importId, links)
  return { applied, failed }
}

function isUpdate({ decision }: StagedRow): boolean {
  return decision?.outcome === 'update'
}

function explainFailure(failure: Failure | undefined): Reason {
  if (failure === undefined) return { code: 'not_found', message: 'The link is gone.' }
  const [violation] = failure.facts.violations ?? []
  return violation ? explainViolation(violation) : { code: failure.code, message: failure.message }
}

type Results = Map<number, LinkRow | Failure>

/** Reads the links of new rows, and returns a function that stores them. */
async function prepareLinks(
  db: Db,
  author: Actor,
  context: PlanContext,
  rows: readonly StagedRow[],
  figures: ReadonlyMap<number, Figures>,
): Promise<(tx: Db) => Promise<Results>> {
  // Rows without addresses have only a host.
  const hosts = rows.map(({ content }) => content.host ?? '')
  await findDomains(db, context, hosts)
  const links = rows.map((row, at): LinkInsertion | Failure => {
    const [main, ...further] = newAddresses(row.addresses)
    const domain_id = main?.domain_id ?? context.domains.get(hosts[at] ?? '')?.id
    const { values, violations } = readNewLink(row.content, context.options, context.rules)
    if (violations.length > 0 || domain_id === undefined) return validationFailed(violations)
    const { alias = null, exact = false, legacy = false } = main ?? {}
    const history = buildHistory(row, figures.get(row.id) as Figures)
    return { ...(values as NewLink), alias, exact, legacy, domain_id, history, further, isImported: true }
  })
  const store = insertion(author, { kind: 'store', rows: links }, context.rules.shortUrl)
  return async (tx) => {
    const outcomes = await store(tx)
    return new Map(rows.map(({ id }, at) => [id, toRecord(outcomes[at] ?? null)]))
  }
}

function toRecord(outcome: Stored | null): LinkRow | Failure {
  return outcome === null || outcome instanceof Failure ? (outcome ?? notFound('link')) : outcome.record
}

function buildHistory({ content }: StagedRow, { clicks, bots, lastDay }: Figures): LinkHistory {
  // The hour is unknown, and noon is on this day in most time zones.
  const last_clicked_ms = lastDay === null ? null : Math.min(Date.now(), (lastDay + 0.5) * dayMs)
  return { created_at: content.created_at, clicks, bots, last_clicked_ms }
}

/** Replaces fields of links. */
async function updateLinks(
  tx: Db,
  author: Actor,
  { rules }: PlanContext,
  rows: readonly StagedRow[],
): Promise<Results> {
  const ids = [...new Set(rows.flatMap(({ decision }) => decision?.linkId ?? []))]
  // At once, so that two transactions lock them in the same order.
  await lockLinks(tx, author.account, ids)
  const results: Results = new Map()
  for (const { id, decision, content } of rows) {
    const { values, violations } = readChange(content, rules)
    const link = [decision?.linkId ?? 0]
    const { outcomes } = await updateRows(
      tx,
      author,
      { kind: 'update', ids: link, values, check: () => violations },
      rules,
    )
    results.set(id, toRecord(outcomes[0] ?? null))
  }
  return results
}
