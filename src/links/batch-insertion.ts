/** The part of the batch engine that stores new links. */
import type { Actor } from '../access/actor.ts'
import { aliasTaken, Failure, validationFailed } from '../errors.ts'
import { createdEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { foldCase } from '../lib/text.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { newLinkViolations } from './actions.ts'
import { type Address, findRivals } from './addresses.ts'
import type { Outcome } from './batch-results.ts'
import { insertLinks, lockDomains, lockSpaces, type NewLinkOnDomain } from './batch-store.ts'
import { generateAlias, generatedLength } from './link.ts'
import { type FoldedTexts, foldedOf } from './link-rows.ts'
import { createTags, insertLinkTags, lockTags, unknownTagViolations } from './link-tags.ts'
import { type LinkRow, linkEvents, type NewLink } from './schema.ts'
import { clashesPerLength, type LinkDomain } from './store.ts'

/** New links of an account. */
export interface Insertion {
  readonly kind: 'store'
  /** A new link with the hash of its password, or the failure of its row. */
  readonly rows: readonly (NewLink | Failure)[]
}

/** A row without violations. */
interface Candidate {
  readonly row: number
  readonly domain: LinkDomain
  readonly link: NewLink
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
  const domainIds = new Set(links.map(({ domain_id }) => domain_id))
  const domains = await lockDomains(tx, account, domainIds, { isAlone: links.some(({ exact }) => exact) })
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
  for (const [at, { row }] of stored.entries()) outcomes[row] = records[at]
  const events = records.map(({ record }) => createdEvent(linkEvents, record))
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
    const taken = await findRivals(tx, account, named.map(addressOf))
    const free = named.filter((link) => {
      const address = addressOf(link)
      if (taken.hasClash(address)) return false
      taken.add(address)
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
  const { domain_id: _, tags: __, ...values } = link
  return { domain, values: { ...values, alias }, folded }
}

function addressOf({ domain, values }: NewLinkOnDomain): Address {
  return { domain_id: domain.id, alias: values.alias, exact: values.exact }
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
