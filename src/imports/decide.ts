/** Decides what an import does with each row of its file. The same database and file always give the same decision. */

import { isSame } from '../events/event.ts'
import { foldCase } from '../lib/text.ts'
import { clash } from '../links/addresses.ts'
import { domainsNamed } from '../links/batch-store.ts'
import { changeViolations, type LinkRules, newLinkViolations } from '../links/link-violations.ts'
import { type LinkRow, linkEvents } from '../links/schema.ts'
import { addressesWith, type KnownAddress } from '../links/spellings.ts'
import { type LinkDomain, linkRecords } from '../links/store.ts'
import { isLegacyAlias, parseAlias } from '../names/alias.ts'
import { parseRules } from '../rules/rule.ts'
import type { Db } from '../storage/port.ts'
import type { Violation } from '../violations.ts'
import { type DaySums, daySums } from './days/store.ts'
import type { LossKind } from './file-row.ts'
import { freeAlias } from './free-alias.ts'
import { readChange, readNewLink } from './links.ts'
import { explainViolation, omitted, refusals, unmapped } from './refusals.ts'
import { type ImportOptions, isLeftOut, type RowOutcome } from './schema.ts'
import { entriesWith, type RowDecision, type StagedAddress, type StagedRow } from './staging/store.ts'

/** What decisions depend on, apart from the rows. */
export interface PlanContext {
  readonly account: number
  readonly importId: number
  readonly options: ImportOptions
  readonly isCaseSensitive: boolean
  readonly rules: LinkRules
  /** The domains of hosts that were looked up, null if they have none. '' stands for rows without a host. */
  readonly domains: Map<string, LinkDomain | null>
}

/** A row with its decision, and its figures for the totals of the plan. */
export interface DecidedRow extends StagedRow {
  readonly decision: RowDecision
  readonly figures: Figures
}

export interface Figures {
  readonly clicks: number
  readonly bots: number
  readonly days: number
  /** The last day with human clicks. */
  readonly lastDay: number | null
  /** The tags of a new link. */
  readonly tags: readonly string[]
}

/** An address on a domain of the account. */
interface Located extends StagedAddress {
  readonly domain: LinkDomain
  readonly domain_id: number
  readonly alias: string
}

/** Why a row stores nothing. The outcome is `refuse` by default. */
type Reason = Pick<RowDecision, 'code' | 'message'> & Partial<Pick<RowDecision, 'outcome'>>

/**
 * Decides about rows that follow each other in the file, from stored links and from the rows before each row. The rows before
 * the first one have their decisions already.
 */
export async function decideRows(tx: Db, plan: PlanContext, rows: readonly StagedRow[]): Promise<DecidedRow[]> {
  const hosts = rows.flatMap(({ content, addresses }) => [content.host ?? '', ...addresses.map(({ host }) => host)])
  await findDomains(tx, plan, hosts)
  const located = new Map(rows.map((row) => [row, locate(plan, row)]))
  const others = await findOthers(tx, plan, [...located.values()])
  const decided: DecidedRow[] = []
  for (const [row, addresses] of located) {
    const next = await decideRow(tx, plan, row, addresses, others)
    for (const entry of others.entries.get(row.id) ?? []) entry.outcome = next.decision.outcome
    decided.push(next)
  }
  return decided
}

/** Looks up the domains of hosts, except those that `domains` already has. */
export async function findDomains(
  tx: Db,
  { account, options, domains }: PlanContext,
  hosts: readonly string[],
): Promise<void> {
  const mapped = new Map(Object.entries(options.domain_map ?? {}))
  const names = new Map(hosts.map((host) => [host, mapped.get(host === '' ? '*' : host) ?? host]))
  const unknown = [...names].filter(([host]) => !domains.has(host))
  const found = await domainsNamed(tx, account, [...new Set(unknown.map(([, name]) => name))])
  for (const [host, name] of unknown) domains.set(host, found.get(name) ?? null)
}

/** Returns a row's addresses on domains of the account, or why it has none. */
function locate({ domains, options }: PlanContext, { content, addresses }: StagedRow): Located[] | Reason {
  if (content.refusal !== null) return content.refusal
  const located: Located[] = []
  for (const address of addresses) {
    const { host, path } = address
    if (isLeftOut(options, host)) continue
    const domain = domains.get(host)
    if (domain == null) return unmapped(host)
    if (path === '') return refusals.root
    const alias = path.normalize()
    const legacy = parseAlias(alias) !== alias
    if (legacy && !isLegacyAlias(alias)) return refusals.alias
    located.push({ ...address, domain, domain_id: domain.id, alias, legacy, exact: false })
  }
  const host = addresses[0]?.host ?? content.host ?? ''
  if (located.length > 0 || domains.get(host)) return located
  return isLeftOut(options, host) ? omitted(host) : unmapped(host)
}

/** An address in the file whose host has a domain. */
interface Entry {
  readonly row_id: number
  readonly alias: string
  readonly url: string
  outcome: RowOutcome | null
}

/** Other links and rows with the same addresses, in any spelling. `groupKey` returns the key of a group. */
interface Others {
  readonly stored: ReadonlyMap<string, readonly KnownAddress[]>
  /** Addresses in the file, in its order, by group and by row. */
  readonly inFile: ReadonlyMap<string, readonly Entry[]>
  readonly entries: ReadonlyMap<number, readonly Entry[]>
  readonly sums: ReadonlyMap<string, DaySums>
  /** The links of stored addresses, for updates. */
  readonly links: ReadonlyMap<number, LinkRow>
}

/** Addresses with the same key differ at most in case. */
function groupKey(domain: LinkDomain, folded: string): string {
  return `${domain.id} ${folded}`
}

async function findOthers(tx: Db, plan: PlanContext, located: readonly (Located[] | Reason)[]): Promise<Others> {
  const { account, importId, options } = plan
  const all = located.flatMap((addresses) => (Array.isArray(addresses) ? addresses : []))
  const folded = [...new Set(all.map((address) => address.folded))]
  const stored = new Map<string, KnownAddress[]>()
  for (const [domain, own] of Map.groupBy(all, (address) => address.domain)) {
    const names = [...new Set(own.map((address) => address.folded))]
    for (const found of await addressesWith(tx, account, domain.id, names)) {
      stored.getOrInsertComputed(groupKey(domain, found.folded), () => []).push(found)
    }
  }
  const linkIds = options.conflict === 'update' ? [...stored.values()].flat().map(({ link }) => link) : []
  const links = await linkRecords.findAll(tx, account, [...new Set(linkIds)])
  return {
    ...{ stored, ...(await findInFile(tx, plan, folded)) },
    sums: sumsByAddress(await daySums(tx, importId, folded)),
    links: new Map([...links].map(([id, { record }]) => [id, record])),
  }
}

async function findInFile(tx: Db, plan: PlanContext, folded: readonly string[]) {
  const found = await entriesWith(tx, plan.importId, folded)
  await findDomains(
    tx,
    plan,
    found.map(({ host }) => host),
  )
  const inFile = new Map<string, Entry[]>()
  const entries = new Map<number, Entry[]>()
  for (const { row_id, host, path, folded: name, url, outcome } of found) {
    const domain = plan.domains.get(host)
    if (domain == null) continue
    const entry = { row_id, alias: path.normalize(), url: url ?? '', outcome: outcome as RowOutcome | null }
    inFile.getOrInsertComputed(groupKey(domain, name), () => []).push(entry)
    entries.getOrInsertComputed(row_id, () => []).push(entry)
  }
  return { inFile, entries }
}

/** Returns the figures of rows, by their ids. */
export async function findFigures(tx: Db, importId: number, rows: readonly StagedRow[]): Promise<Map<number, Figures>> {
  const folded = rows.flatMap(({ addresses }) => addresses.map((address) => address.folded))
  const sums = sumsByAddress(await daySums(tx, importId, [...new Set(folded)]))
  return new Map(rows.map((row) => [row.id, addFigures(row, sums)]))
}

function sumsByAddress(sums: readonly DaySums[]): Others['sums'] {
  return new Map(sums.map((each) => [`${each.host} ${each.path}`, each]))
}

function addFigures({ content, addresses }: StagedRow, sums: Others['sums']): Figures {
  const own = addresses.flatMap(({ host, path }) => sums.get(`${host} ${path}`) ?? [])
  const sum = (figure: 'clicks' | 'bots' | 'days') => own.reduce((total, each) => total + each[figure], 0)
  const last = own.map((each) => each.last ?? -1)
  return {
    clicks: Math.max(content.clicks ?? 0, sum('clicks')),
    bots: Math.max(content.bots ?? 0, sum('bots')),
    days: sum('days'),
    lastDay: last.length === 0 || Math.max(...last) < 0 ? null : Math.max(...last),
    tags: [],
  }
}

/** Builds the result for a row. Only the given addresses get aliases. */
type Result = (
  outcome: RowOutcome,
  own?: Partial<RowDecision>,
  addresses?: readonly StagedAddress[],
  tags?: readonly string[],
) => DecidedRow

function resultFor(row: StagedRow, figures: Figures, located: readonly Located[]): Result {
  const losses: LossKind[] = [...row.content.losses]
  if (figures.clicks > 0 && figures.days === 0) losses.push('click_times')
  return (outcome, own = {}, given = [], tags = []) => ({
    ...{ ...row, addresses: withAliases(row.addresses, located, given), figures: { ...figures, tags } },
    decision: { outcome, code: null, message: null, linkId: null, changes: null, losses, warnings: [], ...own },
  })
}

/** Adds aliases to the given addresses, and domains to the located ones, because the proof needs them. */
function withAliases(
  all: readonly StagedAddress[],
  located: readonly StagedAddress[],
  given: readonly StagedAddress[],
): StagedAddress[] {
  const key = ({ host, path }: StagedAddress) => `${host} ${path}`
  const others = located.map((address) => ({ ...address, alias: null }))
  const known = new Map([...others, ...given].map((address) => [key(address), address]))
  return all.map((address) => known.get(key(address)) ?? { ...address, domain_id: null, alias: null })
}

async function decideRow(
  tx: Db,
  plan: PlanContext,
  row: StagedRow,
  addresses: Located[] | Reason,
  others: Others,
): Promise<DecidedRow> {
  const figures = addFigures(row, others.sums)
  if (!Array.isArray(addresses)) {
    const { outcome = 'refuse', code, message } = addresses
    return resultFor(row, figures, [])(outcome, { code, message })
  }
  const url = row.content.fields.url ?? ''
  const { exact = '' } = row.content.fields
  const isOwnExact = ['true', '1'].includes(exact.trim())
  const named = addresses.map((address) => ({
    ...address,
    exact: isOwnExact || becomesExact(plan, address, url, others),
  }))
  const result = resultFor(row, figures, named)
  const same = named.map(({ domain, folded, alias }) =>
    (others.inFile.get(groupKey(domain, folded)) ?? []).filter((entry) => entry.alias === alias),
  )
  const earlier = same.map((all) => all.find(({ row_id, outcome }) => row_id < row.id && outcome !== 'refuse'))
  if (earlier.some((each) => each !== undefined && each.url !== url)) return result('refuse', refusals.duplicate)
  const isCompared = (at: number) => same[at]?.some(({ row_id }) => row_id === row.id)
  if (earlier.some((each, at) => each === undefined && !isCompared(at))) return result('refuse', refusals.uncompared)
  const left = named.filter((_, at) => earlier[at] === undefined)
  if (left.length === 0 && named.length > 0) return result('known', {}, named)
  const owners = left.map((address) => findOwner(address, others))
  const owner = owners.find((each) => each !== undefined)
  if (owner === undefined || plan.options.conflict !== 'update') return decideNew(tx, plan, row, left, owners, result)
  return decideUpdate(plan, row, others.links.get(owner.link), (outcome, own, tags) =>
    result(outcome, own, named, tags),
  )
}

/** Decides about a row that stores a link, unless others have its addresses. */
async function decideNew(
  tx: Db,
  plan: PlanContext,
  { content }: StagedRow,
  named: readonly Located[],
  owners: readonly (KnownAddress | undefined)[],
  result: Result,
): Promise<DecidedRow> {
  const { values, violations } = readNewLink(content, plan.options, plan.rules)
  const violation = violations[0] ?? firstProblem(plan, values, content.host ?? '', named)
  if (violation !== undefined) return result('refuse', explainViolation(violation))
  const owner = owners.find((each) => each !== undefined)
  if (owner === undefined) return result('store', {}, named, values.tags)
  const own = { linkId: owner.link }
  // A link with the same URL already serves the others.
  const missing = named.filter((_, at) => owners[at]?.url !== values.url)
  if (missing.length === 0) return result('known', own, named)
  if (owners.every((each) => each === undefined || each.url === values.url)) {
    return result('store', {}, missing, values.tags)
  }
  const { conflict } = plan.options
  if (conflict !== 'rename') return result(conflict === 'skip' ? 'skip' : 'conflict', own, named)
  const renamed: StagedAddress[] = []
  for (const address of missing) {
    const isTaken = owners[named.indexOf(address)] !== undefined
    const alias = isTaken ? await freeAlias(tx, plan, address) : address.alias
    if (alias === undefined) return result('refuse', refusals.numbers)
    renamed.push({ ...address, alias })
  }
  return result('rename', {}, renamed, values.tags)
}

/**
 * Returns whether an address becomes exact: the file has it in several spellings, or its source is case-sensitive and stored links
 * with other URLs have it in other spellings.
 */
function becomesExact({ isCaseSensitive }: PlanContext, address: Located, url: string, others: Others): boolean {
  const group = groupKey(address.domain, address.folded)
  if (new Set(others.inFile.get(group)?.map(({ alias }) => alias)).size > 1) return true
  const stored = others.stored.get(group) ?? []
  const isOther = (other: KnownAddress) => other.alias !== address.alias && (other.exact || other.url !== url)
  return isCaseSensitive && stored.length > 0 && stored.every(isOther)
}

/** Returns a stored address that clashes with a new one, preferably in the same spelling. */
function findOwner(address: Located, { stored }: Others): KnownAddress | undefined {
  const clashing = stored.get(groupKey(address.domain, address.folded))?.filter((other) => clash(address, other))
  return clashing?.find(({ alias }) => alias === address.alias) ?? clashing?.[0]
}

function firstProblem(
  { domains, rules }: PlanContext,
  values: ReturnType<typeof readNewLink>['values'],
  host: string,
  named: readonly Located[],
): Violation | undefined {
  const all = named.length > 0 ? named : [{ domain: domains.get(host) ?? null, alias: null }]
  for (const { domain, alias } of all) {
    const [first] = newLinkViolations({ ...values, alias }, { domain, hasSpace: true }, rules.shortUrl)
    if (first !== undefined) return first
  }
  return undefined
}

/** Decides about a row that updates a link. */
function decideUpdate(
  { rules }: PlanContext,
  row: StagedRow,
  link: LinkRow | undefined,
  result: (outcome: RowOutcome, own: Partial<RowDecision>, tags?: readonly string[]) => DecidedRow,
): DecidedRow {
  if (link === undefined) return result('refuse', { code: 'not_found', message: 'The link is being deleted.' })
  const { values, violations } = readChange(row.content, rules)
  const violation = violations[0] ?? changeViolations(link, values, [], rules.shortUrl)[0]
  if (violation !== undefined) return result('refuse', explainViolation(violation))
  const changes = differences(link, values)
  const losses = row.content.losses.filter((kind) => kind !== 'password' && kind !== 'created_at')
  const own = { linkId: link.id, losses }
  return Object.keys(changes).length === 0 ? result('known', own) : result('update', { ...own, changes }, values.tags)
}

/** Returns the values before and after a change, as events have them. */
function differences(
  link: LinkRow,
  change: ReturnType<typeof readChange>['values'],
): Record<string, [unknown, unknown]> {
  const before = linkEvents.valuesOf(link)
  const changes: Record<string, [unknown, unknown]> = {}
  const { redirect_password: password, alias: _, rules, ...values } = change
  if (password) changes.redirect_password = [before.redirect_password ? 'secret' : null, 'secret']
  const shown = { ...values, ...(rules !== undefined && { rules: parseRules({ rules }) }) }
  for (const [field, after] of Object.entries(shown)) {
    const old = before[field] ?? (Array.isArray(after) ? [] : null)
    if (after !== undefined && !isSame(comparable(old), comparable(after))) changes[field] = [old, after]
  }
  return changes
}

/** Names of tags differ regardless of their case and order. */
function comparable(value: unknown): unknown {
  const isNames = Array.isArray(value) && value.every((each) => typeof each === 'string')
  return isNames ? value.map(foldCase).sort() : value
}
