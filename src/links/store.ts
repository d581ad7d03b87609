import { aliasTaken, type Failure, ForeignKeyViolation, UniqueViolation, validationFailed } from '../errors.ts'
import { foldCase } from '../lib/fold-case.ts'
import { resources } from '../resources.ts'
import { setTotals } from '../storage/clicks/totals.ts'
import type { Db, Listable, Page, PageRequest, Storage } from '../storage/port.ts'
import { changeIf, changeRecord, findRecord, findToChange, toVersioned } from '../storage/records.ts'
import { firstRevision, type Precondition, type Versioned } from '../storage/version.ts'
import { generateAlias, generatedLength, type Lifetime, statusOf } from './link.ts'
import type { Programs } from './programs.ts'
import { findLinkDomain, hasSpace, type LinkDomain, unknownDomain, unknownSpace } from './references.ts'
import {
  computed,
  deleteServed,
  insert,
  type LinkRow,
  links,
  selectByAlias,
  selectDue,
  selectOfAlias,
  settleDue,
  settledAtOnce,
} from './statements.ts'

/** The fields of a link that its owner sets. The password is a hash. */
export interface LinkValues {
  readonly space_id: number | null
  readonly url: string
  readonly title: string | null
  readonly disabled: boolean
  readonly active_period_start_at: string | null
  readonly active_period_end_at: string | null
  readonly clicks_limit: number | null
  readonly expiration_url: string | null
  readonly redirect_password: string | null
  readonly forward_query: boolean
  readonly redirect_status: number
}

/** What is to change; a value that is undefined stays as it is. */
export type LinkChange = { readonly [Name in keyof LinkValues]?: LinkValues[Name] | undefined } & {
  readonly alias?: string | undefined
}

/** The history that an imported link brings with it. */
export type LinkPast = Pick<LinkRow, 'clicks' | 'last_clicked_ms' | 'created_at' | 'updated_at'> & Programs

const listable: Listable<LinkRow> = { table: 'links', columns: links.columns, computed, ...resources.links }

/** Lists the account's links, without those of a domain that is being removed; only the last page with `after` is short. */
export async function listLinks(storage: Storage, account: number, page: PageRequest): Promise<Page<LinkRow>> {
  if ('status' in page.filter) await settleStatuses(storage, account)
  const isServed = ({ domain_name }: LinkRow) => domain_name !== null
  let { rows, ...counted } = await storage.list({ of: listable, account, ...page })
  const rowsBefore = rows.length
  const served = rows.filter(isServed)
  while (page.after !== null && rows.length === page.limit && served.length < page.limit) {
    const after = rows.at(-1)?.id ?? page.after
    rows = (await storage.list({ of: listable, account, ...page, after })).rows
    served.push(...rows.filter(isServed))
  }
  return { rows: served.slice(0, page.limit), rowsBefore, ...counted }
}

/** Brings up to date the states of the account's links that time has changed, some at a time. */
async function settleStatuses(db: Db, account: number): Promise<void> {
  const now = new Date().toISOString()
  // Most often nothing is due, and a read waits for no other writer.
  const due = await db.all(selectDue, { account, now })
  let settled = due.length === 0 ? 0 : settledAtOnce
  // Clicks are in another table: a statement that waited for the last one would still see those of before.
  const settle = () => db.write((tx) => tx.all(settleDue, { account, now }), 'serializable')
  while (settled === settledAtOnce) settled = (await settle()).length
}

/** The account's link with this id. */
export async function findLink(db: Db, account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
  return served(await findRecord(db, links, account, id))
}

/** The same, in a transaction that goes on to change it. */
export async function findLinkToChange(tx: Db, account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
  return served(await findToChange(tx, links, account, id))
}

/** The account's links whose ids come after `after`, in their order; at most `limit`. */
export function linksAfter(db: Db, account: number, after: number, limit: number): Promise<LinkRow[]> {
  return db.all(links.selectFollowing, { account, after, limit })
}

/** The id of the account's link that has this alias on the domain, whatever its case. */
export async function findLinkByAlias(db: Db, account: number, domain: number, alias: string) {
  const [found] = await db.all(selectByAlias, { account, domain_id: domain, alias_folded: foldCase(alias) })
  return found && findLink(db, account, found.id)
}

/** The ids and domains of the account's links that have this alias, whatever its case and their domain; at most `limit`. */
export function linksOfAlias(db: Db, account: number, alias: string, limit: number) {
  return db.all(selectOfAlias, { account, alias_folded: foldCase(alias), limit })
}

/** Generated aliases of one length that may clash before longer ones are tried. */
const clashesPerLength = 3

/**
 * Stores a link on a domain of the account, with its own past if it has one. Without an alias, one is made. Throws
 * `alias_taken` if a link of the domain has the alias, whatever its case: the unique index decides; and
 * `validation_failed` if the domain or the space has been deleted meanwhile.
 */
export async function insertLink(
  db: Db,
  account: number,
  domain: LinkDomain,
  { alias, ...values }: LinkValues & { readonly alias: string | null },
  past?: LinkPast,
): Promise<Versioned<LinkRow>> {
  for (let clashes = 0; ; clashes++) {
    const name = alias ?? generateAlias(generatedLength + Math.floor(clashes / clashesPerLength))
    const stored = await tryInsert(db, account, domain, name, values, past)
    if (stored !== undefined) return stored
    await refuseGone(db, account, domain.id, values.space_id)
    if (alias !== null) throw aliasTaken(alias)
  }
}

/** Undefined if the alias is taken, or the domain or the space is gone. */
async function tryInsert(
  db: Db,
  account: number,
  domain: LinkDomain,
  alias: string,
  values: LinkValues,
  past?: LinkPast,
): Promise<Versioned<LinkRow> | undefined> {
  const now = new Date().toISOString()
  const { disabled, forward_query, ...rest } = values
  const fresh = { clicks: 0, last_clicked_ms: null, created_at: now, updated_at: now }
  const { clicks, last_clicked_ms, created_at, updated_at } = past ?? fresh
  const stored = {
    ...{ domain_id: domain.id, ...rest, alias, created_at, updated_at },
    ...{ disabled: Number(disabled), forward_query: Number(forward_query) },
  }
  const lifetime: Lifetime = { ...values, clicks }
  const columns = {
    ...{ account, ...stored, ...foldedOf({ alias, url: rest.url, title: rest.title }) },
    ...{ status: statusOf(lifetime, now), status_due_at: dueAt(lifetime, now) },
  }
  const inserted = past === undefined ? db.writeOne(insert, columns) : insertWithTotals(db, columns, past)
  const [row] = await inserted.catch((error) => {
    throw error instanceof ForeignKeyViolation ? deletedConcurrently(error, domain.id, values.space_id) : error
  })
  if (row === undefined) return undefined
  const totals = { clicks, last_clicked_ms }
  return toVersioned(links, { id: row.id, ...stored, ...totals, domain_name: domain.name, revision: firstRevision })
}

/** As the statement `insert`, in one transaction with the totals of the link's clicks. */
function insertWithTotals(
  db: Db,
  columns: Readonly<Record<string, unknown>>,
  past: LinkPast,
): Promise<{ readonly id: number }[]> {
  return db.write(async (tx) => {
    const rows = await tx.all(insert, columns)
    for (const { id } of rows) await tx.all(setTotals, { link_id: id, ...past })
    return rows
  })
}

/** When the state that a link has at `now` may change by itself. */
function dueAt(link: Lifetime, now: string): string | null {
  const status = statusOf(link, now)
  if (status === 'scheduled') return link.active_period_start_at
  return status === 'active' ? link.active_period_end_at : null
}

/** The domain or the space was deleted in the moment between the look at it and the insertion. */
function deletedConcurrently({ constraint }: ForeignKeyViolation, domain: number, space: number | null): Failure {
  const isSpace = space !== null && constraint?.includes('space_id')
  return validationFailed([isSpace ? unknownSpace(space) : unknownDomain(domain)])
}

/** Throws `validation_failed` if the domain or the space is not one of the account. */
async function refuseGone(db: Db, account: number, domain: number, space: number | null): Promise<void> {
  if ((await findLinkDomain(db, account, domain)) === undefined) throw validationFailed([unknownDomain(domain)])
  if (space !== null && !(await hasSpace(db, account, space))) throw validationFailed([unknownSpace(space)])
}

/** Changes the account's link: see `changeRecord`. Throws `alias_taken`, or `validation_failed` if the space is gone. */
export async function changeLink(
  db: Db,
  account: number,
  id: number,
  change: LinkChange,
  precondition: Precondition | null,
): Promise<Versioned<LinkRow> | undefined> {
  const { disabled, forward_query, ...rest } = change
  const flags = { disabled: numeric(disabled), forward_query: numeric(forward_query) }
  const columns = { ...rest, ...flags, ...foldedOf(change), status_due_at: affectsStatus(change) ? always : undefined }
  try {
    return served(await changeRecord(db, links, { account, id }, columns, precondition))
  } catch (error) {
    if (error instanceof UniqueViolation) throw aliasTaken(change.alias ?? '')
    if (error instanceof ForeignKeyViolation) throw validationFailed([unknownSpace(change.space_id ?? 0)])
    throw error
  }
}

/** Sorts before every time, so that the state is brought up to date before it is next filtered by. */
const always = ''

function affectsStatus(change: LinkChange): boolean {
  const { disabled, active_period_start_at, active_period_end_at, clicks_limit } = change
  return [disabled, active_period_start_at, active_period_end_at, clicks_limit].some((value) => value !== undefined)
}

function numeric(flag: boolean | undefined): number | undefined {
  return flag === undefined ? undefined : Number(flag)
}

/** The folded forms of what is searched. A form is null where the text is its own, which most URLs are. */
function foldedOf({ alias, url, title }: Pick<LinkChange, 'alias' | 'url' | 'title'>) {
  return {
    alias_folded: alias === undefined ? undefined : foldCase(alias),
    url_folded: url === undefined ? undefined : folded(url),
    title_folded: title === undefined ? undefined : title && folded(title),
  }
}

function folded(text: string): string | null {
  const form = foldCase(text)
  return form === text ? null : form
}

/** Deletes the account's link: see `removeRecord`. */
export async function removeLink(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  const own = { account, id }
  return (await changeIf(db, links, own, precondition, deleteServed, own)).length > 0
}

/** A link goes with its domain, at once for all who ask. */
function served(found: Versioned<LinkRow> | undefined): Versioned<LinkRow> | undefined {
  return found?.record.domain_name == null ? undefined : found
}
