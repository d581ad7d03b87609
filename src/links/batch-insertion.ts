/** The part of the batch engine that stores new links. */
import type { Actor } from '../access/actor.ts'
import { aliasTaken, Failure, validationFailed } from '../errors.ts'
import { createdEvent, markImported } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { foldCase } from '../lib/text.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { newLinkViolations } from './actions.ts'
import { type Address, describeAddresses, findRivals, insertAddresses } from './addresses.ts'
import type { Outcome } from './batch-results.ts'
import { type History, insertLinks, lockDomains, lockSpaces, type NewLinkOnDomain } from './batch-store.ts'
import { generateAlias, generatedLength } from './link.ts'
import { type FoldedTexts, foldedOf } from './link-rows.ts'
import { createTags, insertLinkTags, lockTags, unknownTagViolations } from './link-tags.ts'
import { type LinkRow, linkEvents, type NewLink } from './schema.ts'
import { clashesPerLength, type LinkDomain } from './store.ts'

/** A new link with the hash of its password. */
export interface InsertedLink extends NewLink {
  /** What another service knows about the link. */
  readonly history?: History
  readonly legacy?: boolean
  /** Its further addresses. */
  readonly further?: readonly Address[]
}

/** New links of an account. */
export interface Insertion {
  readonly kind: 'store'
  /** A new link, or the failure of its row. */
  readonly rows: readonly (InsertedLink | Failure)[]
}

/** A row without violations. */
interface Candidate {
  readonly row: number
  readonly domain: LinkDomain
  readonly link: InsertedLink
  readonly folded: FoldedTexts | undefined
}

/** The tags of the rows, by folded name. */
type Tags = Awaited<ReturnType<typeof lockTags>>

/** A stored link, which lacks its tags. */
interface StoredRow extends Candidate {
  readonly recordWith: (tags: string | null) => Versioned<LinkRow>
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
  const domainIds = new Set([...links, ...further].map(({ domain_id }) => domain_id))
  const isAlone = further.length > 0 || links.some(({ exact }) => exact)
  const domains = await lockDomains(tx, account, domainIds, { isAlone })
  const spaceIds = links.flatMap(({ space_id }) => space_id ?? [])
  const spaces = await lockSpaces(tx, account, spaceIds)
  const names = links.flatMap(({ tags }) => tags)
  const known = await lockTags(tx, account, names)
  const candidates: Candidate[] = []
  for (const [row, link] of rows.entries()) {
    if (link instanceof Failure) continue
    const domain = domains.get(link.domain_id)
    const hasSpace = link.space_id === null || spaces.has(link.space_id)
    const violations = [...unknownTagViolations(actor, link.tags, known)]
    violations.push(...newLinkViolations(link, { domain, hasSpace }, shortUrl))
    if (violations.length > 0 || domain === undefined) outcomes[row] = validationFailed(violations)
    else candidates.push({ row, domain, link, folded: folded.get(link) })
  }
  const { stored, clashing } = await insertCandidates(tx, account, candidates)
  for (const { row, link } of clashing) outcomes[row] = aliasTaken(link.alias ?? '')
  const records = await tagLinks(tx, actor, stored, known)
  const added = await addAddresses(tx, account, stored, records)
  for (const [at, { row }] of stored.entries()) outcomes[row] = records[at]
  const events = records.map(({ record }, at) => {
    const event = createdEvent(linkEvents, { ...record, addresses: added(record.id) })
    return stored[at]?.link.history === undefined ? event : markImported(event)
  })
  await recordEvents(tx, actor, events)
  return outcomes as Outcome[]
}

/**
 * Stores the links of candidates whose alias is free. Returns them, and the candidates whose alias is taken. Aliases are
 * generated again until they are free.
 */
async function insertCandidates(tx: Db, account: number, candidates: readonly Candidate[]) {
  const stored: StoredRow[] = []
  const clashing: Candidate[] = []
  let pending = candidates
  for (let clashes = 0; pending.length > 0; clashes++) {
    const length = generatedLength + Math.floor(clashes / clashesPerLength)
    const named = pending.map((candidate) => linkOnDomain(candidate, candidate.link.alias ?? generateAlias(length)))
    const addresses = new Map(named.map((link, at) => [link, [addressOf(link), ...(pending[at]?.link.further ?? [])]]))
    const taken = await findRivals(tx, account, [...addresses.values()].flat())
    const free = named.filter((link) => {
      const own = addresses.get(link) ?? []
      if (own.some((address) => taken.hasClash(address))) return false
      for (const address of own) taken.add(address)
      return true
    })
    const inserted = await insertLinks(tx, account, free)
    const missing: Candidate[] = []
    for (const [at, candidate] of pending.entries()) {
      const recordWith = inserted.get(named[at] as NewLinkOnDomain)
      if (recordWith === undefined) missing.push(candidate)
      else stored.push({ ...candidate, recordWith })
    }
    clashing.push(...missing.filter(({ link }) => link.alias !== null))
    pending = missing.filter(({ link }) => link.alias === null)
  }
  return { stored, clashing }
}

function linkOnDomain({ domain, link, folded }: Candidate, alias: string): NewLinkOnDomain {
  const { domain_id: _, tags: __, history, further: ___, ...values } = link
  return { domain, values: { ...values, alias }, folded, history }
}

function addressOf({ domain, values }: NewLinkOnDomain): Address {
  return { domain_id: domain.id, alias: values.alias, exact: values.exact }
}

/** Stores the further addresses of links. Returns a function that returns those of a link, as its event has them. */
async function addAddresses(
  tx: Db,
  account: number,
  stored: readonly StoredRow[],
  records: readonly Versioned<LinkRow>[],
): Promise<(link: number) => string | null> {
  const all = stored.flatMap(({ link: { further = [] } }, at) => {
    const link_id = records[at]?.record.id ?? 0
    return further.map((address) => ({ ...address, link_id }))
  })
  const byLink = Map.groupBy(await insertAddresses(tx, account, all), ({ link_id }) => link_id)
  return (link) => describeAddresses([], byLink.get(link) ?? []).after
}

/** Gives the stored links their tags, which are created if they are unknown. Returns the records of the links. */
async function tagLinks(
  tx: Db,
  actor: Actor,
  stored: readonly StoredRow[],
  known: Tags,
): Promise<Versioned<LinkRow>[]> {
  const names = stored.flatMap(({ link }) => link.tags)
  const tags = await createTags(tx, actor, names, known)
  const added: { link: number; tag: number }[] = []
  const records = stored.map(({ link, recordWith }) => {
    const folded = [...new Set(link.tags.map(foldCase))].sort()
    const own = folded.flatMap((name) => tags.get(name) ?? [])
    const record = recordWith(own.length === 0 ? null : own.map(({ name }) => name).join(','))
    added.push(...own.map(({ id }) => ({ link: record.record.id, tag: id })))
    return record
  })
  await insertLinkTags(tx, actor.account, added)
  return records
}
