/** The part of the batch engine that stores new links. A request for a single link is a batch of one. */
import type { Actor } from '../access/actor.ts'
import { type SavedTotals, saveTotals } from '../analytics/tables.ts'
import { aliasTaken, Failure, validationFailed } from '../errors.ts'
import { createdEvent, markImported } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { foldCase } from '../lib/text.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { newTimes, type Versioned } from '../storage/records.ts'
import { type Address, describeAddresses } from './addresses.ts'
import {
  type InsertedLink,
  type InsertedRow,
  insertLinks,
  lockDomains,
  lockSpaces,
  type Outcome,
  succeeded,
} from './batch-store.ts'
import { generateAlias } from './link.ts'
import { type FoldedTexts, foldedOf, newRow } from './link-rows.ts'
import { createTags, insertLinkTags, lockTags, unknownTagViolations } from './link-tags.ts'
import { newLinkViolations } from './link-violations.ts'
import { type LinkRow, linkEvents, type NewLink } from './schema.ts'
import { type ClickTotals, type LinkDomain, newLinkRecord, unknownDomain } from './store.ts'

/** What another service or database knows about a link. Times are null if they are unknown. */
export interface LinkHistory extends Partial<ClickTotals> {
  readonly created_at: string | null
  readonly updated_at?: string
}

/** A new link with the hash of its password. */
export interface LinkInsertion extends NewLink {
  readonly history?: LinkHistory
  readonly legacy?: boolean
  /** Its further addresses. */
  readonly further?: readonly (Address & { readonly clicks?: number })[]
  /** Whether the event says that an import has stored the link. */
  readonly isImported?: boolean
  /** Stores the link, instead of the actor of the batch. Has the same account. */
  readonly actor?: Actor
}

/** New links of an account. */
export interface Insertion {
  readonly kind: 'store'
  /** A new link, or the failure of its row. */
  readonly rows: readonly (LinkInsertion | Failure)[]
}

/** A row without violations. */
interface Candidate {
  readonly row: number
  readonly domain: LinkDomain
  readonly link: LinkInsertion
  readonly folded: FoldedTexts | undefined
}

/** The tags of the rows, by folded name. */
type Tags = Awaited<ReturnType<typeof lockTags>>

/** A stored link, which lacks its tags. */
interface StoredRow extends Candidate {
  readonly inserted: InsertedLink
  readonly stored: InsertedRow
}

/** Stores a link of the actor. Throws its failure: see `newLinkViolations`; or `alias_taken`. */
export async function insertLink(
  db: Db,
  actor: Actor,
  link: LinkInsertion,
  shortUrl: ShortUrl,
): Promise<Versioned<LinkRow>> {
  const [outcome] = await db.write(insertion(actor, { kind: 'store', rows: [link] }, shortUrl))
  return succeeded(outcome)
}

/**
 * Returns a function that stores the links of the rows in order, in a transaction, and returns the outcome of each row. Folds
 * their texts before the transaction, because that takes long.
 */
export function insertion(actor: Actor, change: Insertion, shortUrl: ShortUrl): (tx: Db) => Promise<Outcome[]> {
  const folded = new Map(change.rows.flatMap((row) => (row instanceof Failure ? [] : [[row, foldedOf(row)]])))
  return (tx) => storeRows(tx, actor, change, folded, shortUrl)
}

async function storeRows(
  tx: Db,
  actor: Actor,
  { rows }: Insertion,
  folded: ReadonlyMap<NewLink, FoldedTexts>,
  shortUrl: ShortUrl,
): Promise<Outcome[]> {
  const { account } = actor
  const outcomes: (Outcome | undefined)[] = rows.map((row) => (row instanceof Failure ? row : undefined))
  const links = rows.flatMap((row) => (row instanceof Failure ? [] : row))
  const further = links.flatMap((link) => link.further ?? [])
  const domains = await lockDomains(tx, account, new Set([...links, ...further].map(({ domain_id }) => domain_id)))
  const spaceIds = links.flatMap(({ space_id }) => space_id ?? [])
  const spaces = await lockSpaces(tx, account, spaceIds)
  const names = links.flatMap(({ tags }) => tags)
  const known = await lockTags(tx, account, names)
  const candidates: Candidate[] = []
  for (const [row, link] of rows.entries()) {
    if (link instanceof Failure) continue
    const domain = domains.get(link.domain_id)
    const hasSpace = link.space_id === null || spaces.has(link.space_id)
    const violations = [...unknownTagViolations(link.actor ?? actor, link.tags, known)]
    violations.push(...newLinkViolations(link, { domain, hasSpace }, shortUrl))
    const gone = link.further?.find(({ domain_id }) => !domains.has(domain_id))
    if (gone !== undefined) violations.push(unknownDomain(gone.domain_id))
    if (violations.length > 0 || domain === undefined) outcomes[row] = validationFailed(violations)
    else candidates.push({ row, domain, link, folded: folded.get(link) })
  }
  const { stored, clashing } = await insertCandidates(tx, account, candidates)
  for (const [row, failure] of clashing) outcomes[row] = failure
  const records = await tagLinks(tx, actor, stored, known)
  await saveHistories(tx, account, stored)
  for (const [at, { row }] of stored.entries()) outcomes[row] = records[at]
  const events = records.map(({ record }, at) => {
    const { link, stored: { further = [] } = {} } = stored[at] ?? {}
    const event = createdEvent(linkEvents, { ...record, addresses: describeAddresses([], further).after })
    return { ...(link?.isImported ? markImported(event) : event), author: link?.actor ?? actor }
  })
  await recordEvents(tx, actor, events)
  return outcomes as Outcome[]
}

/**
 * Stores the links of candidates whose addresses are free. Returns them, and the failures of the others by row. Aliases are
 * generated again until they are free.
 */
async function insertCandidates(tx: Db, account: number, candidates: readonly Candidate[]) {
  const times = newTimes()
  const stored: StoredRow[] = []
  const clashing = new Map<number, Failure>()
  let pending = candidates
  for (let clashes = 0; pending.length > 0; clashes++) {
    const named = pending.map((candidate) => {
      return insertedLink(account, candidate, candidate.link.alias ?? generateAlias(clashes), times)
    })
    const rows = await insertLinks(tx, account, named)
    const again: Candidate[] = []
    for (const [at, candidate] of pending.entries()) {
      const inserted = named[at] as InsertedLink
      const row = rows.stored.get(inserted)
      const taken = rows.taken.get(inserted) ?? ''
      if (row !== undefined) stored.push({ ...candidate, inserted, stored: row })
      else if (candidate.link.alias === null && taken === inserted.row.alias) again.push(candidate)
      else clashing.set(candidate.row, aliasTaken(taken))
    }
    pending = again
  }
  return { stored, clashing }
}

function insertedLink(
  account: number,
  { domain, link, folded }: Candidate,
  alias: string,
  now: ReturnType<typeof newTimes>,
): InsertedLink {
  const { domain_id: _, tags: __, history, further = [], isImported: ___, actor: ____, ...values } = link
  const { clicks = 0 } = history ?? {}
  const times = { created_at: history?.created_at ?? now.created_at, updated_at: history?.updated_at ?? now.updated_at }
  const row = newRow(account, domain, { ...values, alias }, times, { folded, clicks })
  const own = clicks - further.reduce((sum, address) => sum + (address.clicks ?? 0), 0)
  const main = {
    domain_id: domain.id,
    alias,
    exact: values.exact,
    legacy: values.legacy ?? false,
    clicks: Math.max(0, own),
    created_at: times.created_at,
  }
  return { row, addresses: [main, ...further] }
}

async function saveHistories(tx: Db, account_id: number, stored: readonly StoredRow[]): Promise<void> {
  const totals = stored.flatMap(({ link: { history }, domain, stored: { id } }): SavedTotals[] => {
    if (history === undefined) return []
    const { clicks = 0, bots = 0, previews = 0, last_clicked_ms = null } = history
    return [{ link_id: id, account_id, domain_id: domain.id, clicks, bots, previews, clicks_30d: 0, last_clicked_ms }]
  })
  await saveTotals(tx, totals)
}

/** Gives the stored links their tags, which are created if they are unknown. Returns the records of the links. */
async function tagLinks(
  tx: Db,
  actor: Actor,
  stored: readonly StoredRow[],
  known: Tags,
): Promise<Versioned<LinkRow>[]> {
  const wanted = stored.map(({ link }) => ({ author: link.actor ?? actor, names: link.tags }))
  const tags = await createTags(tx, actor, wanted, known)
  const added: { link: number; tag: number }[] = []
  const records = stored.map(({ link, inserted, domain, stored: { id } }) => {
    const folded = [...new Set(link.tags.map(foldCase))].sort()
    const own = folded.flatMap((name) => tags.get(name) ?? [])
    added.push(...own.map(({ id: tag }) => ({ link: id, tag })))
    const shown = own.length === 0 ? null : own.map(({ name }) => name).join(',')
    return newLinkRecord(id, inserted.row, domain, shown, link.history)
  })
  await insertLinkTags(tx, actor.account, added)
  return records
}
