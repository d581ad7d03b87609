/** Plans imports: stores the rows of a file, and decides about them. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Actor } from '../access/actor.ts'
import { requireScope } from '../access/roles.ts'
import { calendarOf } from '../accounts/calendar.ts'
import { findTimeZones } from '../accounts/store.ts'
import { Failure, found, idempotencyInProgress, validationFailed } from '../errors.ts'
import { formatEntityTag } from '../http/response.ts'
import { type Claim, runOnce } from '../idempotency/store.ts'
import { type Lease as JobLease, pauseMs } from '../jobs/store.ts'
import { linkFields } from '../links/fields.ts'
import { findUnknownTags } from '../links/link-tags.ts'
import type { LinkRules } from '../links/link-violations.ts'
import { hashPassword } from '../links/password.ts'
import type { Db } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { isSecret, mapColumns } from './csv-columns.ts'
import { countOrphans, moveDays, resolveReferences, stageDays } from './days/store.ts'
import { addressColumns, ClickDays, linkColumns } from './days.ts'
import { type DecidedRow, decideRows, type PlanContext } from './decide.ts'
import type { FileColumn, FileItem, FileRow } from './file-row.ts'
import { withWarnings } from './links.ts'
import { PlanFigures } from './plan-figures.ts'
import { CellReader, type ReadingOptions, readFile } from './reading.ts'
import { explainViolation } from './refusals.ts'
import type { ImportOptions } from './schema.ts'
import { importRecord, versionedImport } from './shown.ts'
import { type Content, deleteAddresses, hasUndecided, readRows, type StagedRow, saveRows } from './staging/store.ts'
import { advance, createImport, findImport, type Lease, type StoredImport } from './store.ts'

/** What a file is planned with. */
export interface PlanRequest {
  readonly actor: Actor
  readonly type: ReadingOptions['type']
  readonly options: ImportOptions
  /** See `ColumnChoice`. */
  readonly isPartial?: boolean | undefined
  /** What is wrong with other options. Then the file is only read, to find all violations. */
  readonly violations?: readonly Violation[]
  /** The claim of a request that may be repeated, and the URL of the list, for the response that is stored with the import. */
  readonly once?: { readonly claim: Claim; readonly listUrl: string } | undefined
}

/** Called with the number of rows that are read or decided. */
export type OnProgress = (rows: number) => void

/** Rows and days in one transaction. */
const [rowsTogether, daysTogether] = [150, 500]

/** Plans the import of a file. Returns its id. Throws the failures of `readFile`, and `insufficient_scope` for new tags. */
export async function planImport(
  db: Db,
  { actor, type, options, isPartial, violations = [], once }: PlanRequest,
  file: AsyncIterable<Uint8Array>,
  rules: LinkRules,
  { token }: JobLease,
  onProgress: OnProgress = () => undefined,
): Promise<number> {
  const { source, time_zone, columns, generate_aliases } = options
  const start = () =>
    readFile(file, { ...{ source, type, timeZone: time_zone, columns, generateAliases: generate_aliases, isPartial } })
  if (violations.length > 0) throw await findViolations(start, violations)
  const reading = await start()
  const { account, batchId } = actor
  let id = 0
  const create = async (tx: Db) => {
    id = await createImport(tx, { account, token }, { ...reading, options, batchId, summary: noRows })
    const { record, version } = versionedImport(importRecord(found(await findImport(tx, account, id), 'import')))
    const location = `${once?.listUrl}/${id}`
    return { status: 202, location, etag: formatEntityTag(version), body: JSON.stringify({ data: record }) }
  }
  const { isReplayed } = await runOnce(db, once?.claim ?? null, create)
  // Another process has planned the file since the request looked for a stored response.
  if (isReplayed) throw idempotencyInProgress()
  const lease = { account, id, token }
  await stage(db, lease, reading, onProgress)
  const { isCaseSensitive } = reading
  const context = { account, importId: id, options, isCaseSensitive, rules, domains: new Map() }
  const summary = await decideAll(db, context, lease, onProgress)
  if (summary.new_tags > 0) requireScope(actor, 'tags:write')
  await db.write((tx) => advance(tx, lease, { state: 'planned', summary, isEnd: true }))
  return id
}

const noRows = new PlanFigures().summary(0)

/** Reads a whole file. Returns the failure with violations of options and those of the file, unless the file can't be read. */
async function findViolations(start: () => Promise<Reading>, violations: readonly Violation[]): Promise<Failure> {
  try {
    for await (const _ of (await start()).items);
  } catch (error) {
    if (!(error instanceof Failure && error.facts.violations)) throw error
    const others = error.facts.violations.filter(({ field }) => !violations.some((each) => each.field === field))
    return validationFailed([...violations, ...others])
  }
  return validationFailed(violations)
}

type Reading = Awaited<ReturnType<typeof readFile>>

/** Stores the rows and clicks of a file. Throws `validation_failed` if it has no rows. */
async function stage(db: Db, lease: Lease, reading: Reading, onProgress: OnProgress) {
  const calendar = calendarOf(await findTimeZones(db, lease.account))
  const clicks = new ClickDays(calendar)
  const hidden = reading.columns.map(isSecret)
  let rows: StagedRow[] = []
  let count = 0
  const flush = async () => {
    const staged = rows
    rows = []
    await db.write(async (tx) => {
      await advance(tx, lease, { summary: { ...noRows, rows: count }, total: count })
      await saveRows(tx, lease.id, staged)
    })
    const days = clicks.size >= daysTogether || staged.length === 0 ? clicks.take() : []
    for (let at = 0; at < days.length; at += daysTogether) {
      await db.write(async (tx) => {
        await advance(tx, lease, {})
        await stageDays(tx, lease.id, days.slice(at, at + daysTogether))
      })
      await wait(pauseMs)
    }
    onProgress(count)
    await wait(pauseMs)
  }
  const relinkClicks = async (step: (tx: Db) => Promise<boolean>) => {
    const isLeft = () => db.write(async (tx) => advance(tx, lease, {}).then(() => step(tx)))
    while (await isLeft()) await wait(pauseMs)
  }
  for await (const item of reading.items) {
    if ('clicks' in item) clicks.add(item.clicks)
    else if ('row' in item) rows.push(await stagedRow(++count, item, hidden))
    else {
      if (rows.length > 0) await flush()
      await flush()
      await relinkClicks((tx) => moveDays(tx, lease.id, item.page, linkColumns(item.link)))
    }
    if (rows.length >= rowsTogether || clicks.size >= 4 * daysTogether) await flush()
  }
  if (rows.length > 0) await flush()
  if (clicks.size > 0) await flush()
  await relinkClicks((tx) => resolveReferences(tx, lease.id))
  if (count === 0) throw validationFailed([new Refusal('required').at('body')])
}

async function stagedRow(
  id: number,
  { row, cells, reference }: Extract<FileItem, { row: FileRow }>,
  hidden: readonly boolean[],
): Promise<StagedRow> {
  const addresses = new Map(row.addresses.map((address) => [`${address.host ?? ''} ${address.path}`, address]))
  return {
    ...{ id, line: row.line, content: await contentOf(row), decision: null, reference },
    cells: cells?.map((cell, at) => (hidden[at] ? '' : cell)) ?? null,
    addresses: [...addresses.values()].map(stagedAddress),
  }
}

function stagedAddress(address: FileRow['addresses'][number]): StagedRow['addresses'][number] {
  return { ...addressColumns(address), domain_id: null, alias: null, exact: false, legacy: false }
}

/** Returns what is stored of a row. Only the hash of a password is. */
async function contentOf({ line: _, addresses: __, ...row }: FileRow): Promise<Content> {
  const { redirect_password: text, ...fields } = row.fields
  const password = text === undefined ? null : linkFields.redirect_password.store.read(text)
  if (password instanceof Refusal) {
    const refusal = row.refusal ?? explainViolation(password.at('redirect_password'))
    return { ...row, fields, password: null, refusal }
  }
  return { ...row, fields, password: password && (await hashPassword(password)) }
}

/** Decides about all rows of an import, and returns the figures. */
export async function decideAll(db: Db, context: PlanContext, lease: Lease, onProgress: OnProgress = () => undefined) {
  const totals = new PlanFigures()
  await eachDecided(db, context, async (rows) => {
    const decided = await withWarnings(db, context, rows)
    const names = decided.flatMap(({ figures }) => figures.tags)
    totals.addTags(await findUnknownTags(db, context.account, names))
    for (const row of decided) totals.add(row, context.domains)
    const done = decided.at(-1)?.id ?? 0
    await db.write(async (tx) => {
      await advance(tx, lease, { done })
      await saveRows(tx, lease.id, decided)
    })
    onProgress(done)
  })
  return totals.summary(await countAllOrphans(db, lease.id))
}

async function countAllOrphans(db: Db, importId: number): Promise<number> {
  let orphans = 0
  let last: string | null = null
  for (;;) {
    const found = await countOrphans(db, importId, last)
    if (found.until === null) return orphans
    orphans += found.orphans
    last = found.until
    await wait(pauseMs)
  }
}

/** Decides about all rows in order, and passes some at a time to `use`. Holds no lock of the database. */
export async function eachDecided(
  db: Db,
  context: PlanContext,
  use: (decided: readonly DecidedRow[], before: readonly StagedRow[]) => Promise<void>,
): Promise<void> {
  for (let after = 0; ; await wait(pauseMs)) {
    const rows = await readRows(db, context.importId, { after, limit: rowsTogether })
    const last = rows.at(-1)?.id
    if (last === undefined) return
    await use(await decideRows(db, context, rows), rows)
    after = last
  }
}

/** Decides about an import again, with other options, from its stored rows. Columns can be mapped again. */
export async function replanImport(
  db: Db,
  actor: Actor,
  planned: StoredImport,
  options: ImportOptions,
  lease: Lease,
  rules: LinkRules,
): Promise<void> {
  const { id, isCaseSensitive } = planned
  const isReadAgain =
    planned.columns.length > 0 &&
    planned.source === 'csv' &&
    ((['columns', 'time_zone', 'generate_aliases'] as const).some(
      (name) => JSON.stringify(options[name]) !== JSON.stringify(planned.options[name]),
    ) ||
      (await hasUndecided(db, id)))
  const columns = isReadAgain ? await readAgain(db, planned, options, lease) : planned.columns
  // If this ends halfway, an application compares the decisions with those under these options.
  await db.write((tx) => advance(tx, lease, { options, columns }))
  const context = { account: actor.account, importId: id, options, isCaseSensitive, rules, domains: new Map() }
  const summary = await decideAll(db, context, lease)
  await db.write((tx) => advance(tx, lease, { summary, isEnd: true }))
}

/**
 * Reads the stored cells under other fields of their columns. If this ends halfway, the rows that are read have no decision, so that
 * nothing can be applied and the next plan reads all of them again.
 */
async function readAgain(
  db: Db,
  { id, columns: before }: StoredImport,
  options: ImportOptions,
  lease: Lease,
): Promise<readonly FileColumn[]> {
  const { columns: names, time_zone: timeZone, generate_aliases: generateAliases } = options
  const columns = mapColumns(before, { columns: names, generateAliases })
  const reader = new CellReader(columns, { timeZone, generateAliases })
  const hasPassword = columns.some(({ field }) => field === 'redirect_password')
  for (let after = 0; ; await wait(pauseMs)) {
    const rows = await readRows(db, id, { after, limit: rowsTogether })
    const last = rows.at(-1)?.id
    if (last === undefined) return columns
    // Passwords are hashed, which takes too long for a transaction.
    const next: StagedRow[] = []
    for (const { cells, ...row } of rows) {
      const again = reader.read(cells ?? [], row.line)
      const content = await contentOf(again)
      const password = content.password ?? (hasPassword ? row.content.password : null)
      const addresses = again.addresses.map(stagedAddress)
      next.push({ ...row, cells, content: { ...content, password }, addresses, decision: null })
    }
    await db.write(async (tx) => {
      const ids = next.map((row) => row.id)
      await advance(tx, lease, { options, columns })
      await deleteAddresses(tx, id, ids)
      await saveRows(tx, id, next)
    })
    after = last
  }
}
