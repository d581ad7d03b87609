/** Decides what an import does with the rows of its file, from the stored rows alone, so that it can be repeated. */

import { isSame } from '../events/event.ts'
import { foldCase } from '../lib/text.ts'
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
import { readChange, readNewLink, withWarnings } from './links.ts'
import { omitted, refusals, unmapped } from './refusals.ts'
import { type ImportOptions, isLeftOut } from './schema.ts'
import { type Decision, entriesWith, findRows, type StagedAddress, type StagedRow } from './staging/store.ts'

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
  readonly decision: Decision
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
  readonly alias: string
}

/** Why a row stores nothing. The outcome is `refuse` by default. */
type Refused = Pick<Decision, 'code' | 'message'> & Partial<Pick<Decision, 'outcome'>>

/** Decides about rows that follow each other in the file. The rows before them have their decisions already. */
export async function decideRows(tx: Db, plan: PlanContext, rows: readonly StagedRow[]): Promise<DecidedRow[]> {
  await findDomains(
    tx,
    plan,
    rows.flatMap(({ content, addresses }) => [content.host ?? '', ...addresses.map(({ host }) => host)]),
  )
  const located = rows.map((row) => locate(plan, row))
  const known = await findKnown(tx, plan, rows, located)
  const decided: DecidedRow[] = []
  for (const [at, row] of rows.entries()) {
    const addresses = located[at] as Located[] | Refused
    const made = await decide(tx, plan, row, addresses, known)
    decided.push(made)
    if (made.decision.outcome === 'refuse' || !Array.isArray(addresses)) continue
    const url = row.content.fields.url ?? ''
    const { earlier, compared } = known
    // As `findInFile` does for the rows before, so that decisions don't depend on where a batch begins.
    for (const each of addresses.map(spellingOf)) if (compared.has(`${row.id} ${each}`)) earlier.getOrInsert(each, url)
  }
  return withWarnings(tx, plan.account, decided, plan.rules)
}

/** Looks up the domains of hosts that are not known yet. */
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

/** Returns the addresses of a row on domains of the account, or why it has none. */
function locate({ domains, options }: PlanContext, { content, addresses }: StagedRow): Located[] | Refused {
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

/** What the file knows about the addresses of some rows. */
interface InFile {
  /** The spellings of the file, by `groupOf`. */
  readonly spellings: ReadonlyMap<string, ReadonlySet<string>>
  /** The URLs of earlier rows, by `spellingOf`. */
  readonly earlier: Map<string, string>
  /** The rows that are compared with each other, with their `spellingOf`. */
  readonly compared: ReadonlySet<string>
}

/** What the database and the file know about the addresses of some rows. */
interface Known extends InFile {
  /** The stored addresses with the same folded alias on the domain, by `groupOf`. */
  readonly stored: ReadonlyMap<string, readonly KnownAddress[]>
  readonly sums: ReadonlyMap<string, DaySums>
  /** The links of stored addresses, for updates. */
  readonly links: ReadonlyMap<number, LinkRow>
}

function groupOf({ domain, folded }: Pick<Located, 'domain' | 'folded'>): string {
  return `${domain.id} ${folded}`
}

function spellingOf({ domain, alias }: Pick<Located, 'domain' | 'alias'>): string {
  return `${domain.id} ${alias}`
}

async function findKnown(
  tx: Db,
  plan: PlanContext,
  rows: readonly StagedRow[],
  located: readonly (Located[] | Refused)[],
): Promise<Known> {
  const { account, importId, options } = plan
  const all = located.flatMap((addresses) => (Array.isArray(addresses) ? addresses : []))
  const folded = [...new Set(all.map((address) => address.folded))]
  const stored = new Map<string, KnownAddress[]>()
  for (const [id, onDomain] of Map.groupBy(all, ({ domain }) => domain.id)) {
    const names = [...new Set(onDomain.map((address) => address.folded))]
    for (const found of await addressesWith(tx, account, id, names)) {
      stored.getOrInsertComputed(`${id} ${found.folded}`, () => []).push(found)
    }
  }
  const linkIds = options.conflict === 'update' ? [...stored.values()].flat().map(({ link }) => link) : []
  const links = await linkRecords.findAll(tx, account, [...new Set(linkIds)])
  const sums = await daySums(tx, importId, folded)
  return {
    stored,
    ...(await findInFile(tx, plan, folded, rows[0]?.id ?? 0)),
    sums: sumsByAddress(sums),
    links: new Map([...links].map(([id, { record }]) => [id, record])),
  }
}

/** Returns the spellings of the whole file, and the URLs of the rows before a row that are not refused. */
async function findInFile(tx: Db, plan: PlanContext, folded: readonly string[], first: number): Promise<InFile> {
  const { importId } = plan
  const spellings = new Map<string, Set<string>>()
  const before = new Map<string, number>()
  const compared = new Set<string>()
  const entries = (await entriesWith(tx, importId, folded)).sort((a, b) => a.row_id - b.row_id)
  await findDomains(
    tx,
    plan,
    entries.map(({ host }) => host),
  )
  for (const entry of entries) {
    const domain = plan.domains.get(entry.host)
    if (domain == null) continue
    const address = { domain, folded: entry.folded, alias: entry.path.normalize() }
    spellings.getOrInsertComputed(groupOf(address), () => new Set()).add(address.alias)
    compared.add(`${entry.row_id} ${spellingOf(address)}`)
    if (entry.row_id < first && entry.outcome !== 'refuse') before.getOrInsert(spellingOf(address), entry.row_id)
  }
  const rows = await findRows(tx, importId, [...new Set(before.values())])
  const urls = new Map(rows.map(({ id, content }) => [id, content.fields.url ?? '']))
  const earlier = new Map([...before].map(([spelling, row]) => [spelling, urls.get(row) ?? '']))
  return { spellings, earlier, compared }
}

/** Returns the figures of rows, by their ids. */
export async function findFigures(tx: Db, importId: number, rows: readonly StagedRow[]): Promise<Map<number, Figures>> {
  const folded = rows.flatMap(({ addresses }) => addresses.map((address) => address.folded))
  const sums = sumsByAddress(await daySums(tx, importId, [...new Set(folded)]))
  return new Map(rows.map((row) => [row.id, figuresOf(row, sums)]))
}

function sumsByAddress(sums: readonly DaySums[]): Known['sums'] {
  return new Map(sums.map((each) => [`${each.host} ${each.path}`, each]))
}

function figuresOf({ content, addresses }: StagedRow, sums: Known['sums']): Figures {
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

/** Builds the result for a row. Its addresses stay without aliases, apart from those that are given. */
type Result = (
  outcome: Decision['outcome'],
  own?: Partial<Decision>,
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

/** Returns addresses with the aliases of those that are given. Other links have the others, of which the proof needs the domain. */
function withAliases(
  all: readonly StagedAddress[],
  located: readonly StagedAddress[],
  given: readonly StagedAddress[],
): StagedAddress[] {
  const keyOf = ({ host, path }: StagedAddress) => `${host} ${path}`
  const others = located.map((address) => ({ ...address, alias: null }))
  const known = new Map([...others, ...given].map((address) => [keyOf(address), address]))
  return all.map((address) => known.get(keyOf(address)) ?? { ...address, domain_id: null, alias: null })
}

async function decide(
  tx: Db,
  plan: PlanContext,
  row: StagedRow,
  addresses: Located[] | Refused,
  known: Known,
): Promise<DecidedRow> {
  const figures = figuresOf(row, known.sums)
  if (!Array.isArray(addresses)) {
    const { outcome = 'refuse', code, message } = addresses
    return resultFor(row, figures, [])(outcome, { code, message })
  }
  const url = row.content.fields.url ?? ''
  const { exact = '' } = row.content.fields
  const isOwnExact = ['true', '1'].includes(exact.trim())
  const named = addresses.map((address) => ({ ...address, exact: isOwnExact || isExact(plan, address, url, known) }))
  const result = resultFor(row, figures, named)
  const earlier = named.map((address) => known.earlier.get(spellingOf(address)))
  if (earlier.some((each) => each !== undefined && each !== url)) return result('refuse', refusals.duplicate)
  const others = named.filter((_, at) => earlier[at] === undefined)
  if (others.some((address) => !known.compared.has(`${row.id} ${spellingOf(address)}`))) {
    return result('refuse', refusals.uncompared)
  }
  if (others.length === 0 && named.length > 0) return result('known', {}, named)
  const taken = others.map((address) => takenBy(address, known))
  const owner = taken.find((each) => each !== undefined)
  if (owner === undefined || plan.options.conflict !== 'update') return decideNew(tx, plan, row, others, taken, result)
  return decideUpdate(plan, row, known.links.get(owner.link), (outcome, own, tags) => result(outcome, own, named, tags))
}

/** Decides about a row that stores a link, unless others have its addresses. */
async function decideNew(
  tx: Db,
  plan: PlanContext,
  { content }: StagedRow,
  named: readonly Located[],
  taken: readonly (KnownAddress | undefined)[],
  result: Result,
): Promise<DecidedRow> {
  const { values, violations } = readNewLink(content, plan.options, plan.rules)
  const violation = violations[0] ?? firstProblem(plan, values, content.host ?? '', named)
  if (violation !== undefined) return result('refuse', refusedBy(violation))
  const owner = taken.find((each) => each !== undefined)
  if (owner === undefined) return result('store', {}, named, values.tags)
  const own = { linkId: owner.link }
  // A link with the same URL already serves the others.
  const missing = named.filter((_, at) => taken[at]?.url !== values.url)
  if (missing.length === 0) return result('known', own, named)
  if (taken.every((each) => each === undefined || each.url === values.url)) {
    return result('store', {}, missing, values.tags)
  }
  const { conflict } = plan.options
  if (conflict !== 'rename') return result(conflict === 'skip' ? 'skip' : 'conflict', own, named)
  const renamed: StagedAddress[] = []
  for (const address of missing) {
    const isTaken = taken[named.indexOf(address)] !== undefined
    const alias = isTaken ? await freeAlias(tx, plan, address) : address.alias
    if (alias === undefined) return result('refuse', refusals.numbers)
    renamed.push({ ...address, alias })
  }
  return result('rename', {}, renamed, values.tags)
}

/**
 * Returns whether an address matches only its spelling: the file has it in several, or its source is case-sensitive and a stored
 * link with another URL has it in another.
 */
function isExact(
  { isCaseSensitive }: PlanContext,
  address: Located,
  url: string,
  { spellings, stored }: Known,
): boolean {
  const group = groupOf(address)
  if ((spellings.get(group)?.size ?? 1) > 1) return true
  if (!isCaseSensitive) return false
  const others = stored.get(group) ?? []
  return (
    others.length > 0 && others.every((other) => other.alias !== address.alias && (other.exact || other.url !== url))
  )
}

/** Returns the stored address that stands in the way of a new one. */
function takenBy(address: Located, { stored }: Known): KnownAddress | undefined {
  const all = stored.get(groupOf(address)) ?? []
  const same = all.find(({ alias }) => alias === address.alias)
  return same ?? (address.exact ? undefined : all.find(({ exact }) => !exact))
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

function refusedBy({ code, message }: Violation): Refused {
  return { code, message }
}

/** Decides about a row that replaces fields of a link. */
function decideUpdate(
  { rules }: PlanContext,
  row: StagedRow,
  link: LinkRow | undefined,
  result: (outcome: Decision['outcome'], own: Partial<Decision>, tags?: readonly string[]) => DecidedRow,
): DecidedRow {
  if (link === undefined) return result('refuse', { code: 'not_found', message: 'The link is being deleted.' })
  const { values, violations } = readChange(row.content, rules)
  const violation = violations[0] ?? changeViolations(link, values, [], rules.shortUrl)[0]
  if (violation !== undefined) return result('refuse', refusedBy(violation))
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
