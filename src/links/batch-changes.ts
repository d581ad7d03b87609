/** The part of the batch engine that changes links. A request for a single link is a batch of one. */
import type { Actor } from '../access/actor.ts'
import { type Failure, notFound, validationFailed } from '../errors.ts'
import { updatedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import type { Violation } from '../violations.ts'
import { changeAddresses } from './address-changes.ts'
import { furtherShortUrls, type NewAddress } from './addresses.ts'
import { changeLinks, lockDomains, lockSpaces, type Outcome, succeeded } from './batch-store.ts'
import { setTagsOfLinks, type TagChange, tagCountViolations, tooManyTags } from './link-tags.ts'
import { changeViolations, type LinkRules } from './link-violations.ts'
import { type ReplacedDestinations, type Replacement, replacedDestinations } from './replacement.ts'
import { type LinkChange, type LinkRow, linkEvents } from './schema.ts'
import { type LinkDomain, linkRecords, lockLinks, unknownDomain, unknownSpace } from './store.ts'

/** A change of many links. */
export interface Update {
  readonly kind: 'update'
  readonly ids: readonly number[]
  /** The new values of every link. The password is a hash. */
  readonly values: LinkChange & { readonly domain_id?: number }
  /** Returns what else is wrong with a link and the change. May throw. */
  readonly check?: (link: Versioned<LinkRow>) => readonly Violation[]
  /** What is replaced in the destination of every link, instead of a new one in `values`. */
  readonly replacement?: Replacement | undefined
  /** The further addresses afterwards, as an event has them. */
  readonly addresses?: readonly NewAddress[] | undefined
  /** Names of tags that every link gets and loses. */
  readonly tags?: TagChange | undefined
}

/** The outcome of each row, and the number of links that are stored, changed or deleted. */
export interface Result {
  readonly outcomes: readonly Outcome[]
  readonly changed: number
}

/** Changes a link of the actor in a transaction, as a batch of one. Throws its failure. */
export async function changeLink(
  tx: Db,
  actor: Actor,
  id: number,
  change: Omit<Update, 'kind' | 'ids'>,
  rules: LinkRules,
): Promise<Versioned<LinkRow>> {
  const { outcomes } = await updateRows(tx, actor, { kind: 'update', ids: [id], ...change }, rules)
  return succeeded(outcomes[0])
}

/** Changes links in a transaction. Throws `validation_failed` if the batch as a whole is impossible. */
export async function updateRows(tx: Db, actor: Actor, change: Update, rules: LinkRules): Promise<Result> {
  const { account } = actor
  const { ids } = change
  const { tags: replaced, keep_address: _, ...values } = change.values
  const links = await linkRecords.findAll(tx, account, await lockLinks(tx, account, ids))
  const { possible, failures, replaced: destinations } = await planUpdate(tx, account, change, links, rules)
  const { moved, failures: clashing } = await moveLinks(tx, account, change, possible)
  for (const [id, failure] of clashing) failures.set(id, failure)
  const names = change.tags ?? replaced
  const rest = possible.filter((id) => !failures.has(id))
  const tagged = names && rest.length > 0 ? await setTagsOfLinks(tx, actor, rest, names) : undefined
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

/** Changes the addresses of links if the change requires it: see `changeAddresses`. */
async function moveLinks(
  tx: Db,
  account: number,
  { values: { alias, domain_id, exact, keep_address: keepsAddress = false }, addresses }: Update,
  ids: readonly number[],
): ReturnType<typeof changeAddresses> {
  if ([alias, domain_id, exact, addresses].every((value) => value === undefined))
    return { moved: new Map(), failures: new Map() }
  return changeAddresses(tx, account, ids, { alias, domain_id, exact, keepsAddress, addresses })
}

/** Returns the links that can be changed, why the others can't, and the destinations after replacements. */
async function planUpdate(
  tx: Db,
  account: number,
  { ids, values, replacement, check, tags }: Update,
  links: ReadonlyMap<number, Versioned<LinkRow>>,
  rules: LinkRules,
) {
  // Domains are locked first, as in every transaction.
  const domain = await targetDomain(tx, account, values.domain_id)
  const space = values.space_id ?? null
  const hasSpace = space === null || (await lockSpaces(tx, account, [space])).has(space)
  const mayLoop = [values.url, values.rules, values.alias, values.domain_id, replacement].some(
    (value) => value !== undefined,
  )
  const further = await furtherShortUrls(tx, account, mayLoop ? ids : [], rules.shortUrl)
  const change = domain === undefined ? values : { ...values, domain_name: domain.name }
  const gone = hasSpace ? [] : [unknownSpace(space)]
  const replaced = new Map<number, ReplacedDestinations>()
  const failureOf = (stored: Versioned<LinkRow> | undefined) => {
    // The domain of a link without its name is being removed.
    if (stored == null || stored.record.domain_name === null) return notFound('link')
    const link = stored.record
    const others = further.get(link.id)
    const violations = [...(check?.(stored) ?? []), ...gone]
    if (tags !== undefined) violations.push(...tagCountViolations(link.tags, tags))
    violations.push(...changeViolations(link, change, others ?? [], rules.shortUrl))
    const after = replacement && replacedDestinations(link, replacement, rules, others)
    if (after !== undefined && 'code' in after) violations.push(after)
    else if (after !== undefined) replaced.set(link.id, after)
    return violations.length > 0 ? validationFailed(violations) : null
  }
  const failures = new Map<number, Failure>()
  const possible = ids.filter((id) => {
    const failure = failureOf(links.get(id))
    return failure === null || (failures.set(id, failure) && false)
  })
  return { possible, failures, replaced }
}

/** Returns the domain that links move to, and locks it. Throws `validation_failed` if it is gone. */
async function targetDomain(tx: Db, account: number, id: number | undefined): Promise<LinkDomain | undefined> {
  if (id === undefined) return undefined
  const domain = (await lockDomains(tx, account, new Set([id]))).get(id)
  if (domain === undefined) throw validationFailed([unknownDomain(id)])
  return domain
}
