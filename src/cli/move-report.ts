/** What commands print about imports. */
import { readOwnUrl } from '../config/config.ts'
import { found } from '../errors.ts'
import type { ImportActions } from '../imports/actions.ts'
import { columnFields } from '../imports/csv-columns.ts'
import { vendors } from '../imports/refusals.ts'
import {
  explainUnreachable,
  findMovedHosts,
  type ImportReport,
  plainAddress,
  reportImport,
  reportProof,
  resultNames,
  rowKinds,
} from '../imports/report.ts'
import type { Import, ImportRow, ImportRowsQuery } from '../imports/schema.ts'
import { rowRecord } from '../imports/shown.ts'
import { sourceNames } from '../imports/source-names.ts'
import type { StoredImport } from '../imports/store.ts'
import { findInstanceUrls } from '../instance/store.ts'
import { formatCount, quantity } from '../lib/format.ts'
import { findLinkDomain } from '../links/store.ts'
import { DomainChecks } from '../reachability/checks.ts'
import { findRecordsToSet } from '../reachability/store.ts'
import type { Storage } from '../storage/port.ts'
import { program } from '../version.ts'
import type { Terminal } from './command.ts'
import { withOptionNames } from './form-options.ts'
import { changesInWords } from './history.ts'
import { ownShortUrls } from './instance.ts'
import { printable, shorten, table } from './output.ts'

export interface ReportContext {
  readonly db: Storage
  readonly account: number
  readonly imports: ImportActions
}

/** Rows in their final form, and rows with errors or differences. */
const [maxSamples, maxProblems] = [10, 20]

/** Describes a plan or an import: outcomes, losses, columns, hosts, the first rows, errors, and the next command. */
export async function describeImport(context: ReportContext, record: Import): Promise<string> {
  const { id, source, state, rows, outcomes, error } = record
  const isPlan = state === 'planned'
  const stored = found(await context.imports.findStored(context.account, id), 'import')
  const report = reportImport(stored)
  const lost = report.losses.map((text) => `  ${text}`)
  const { unmapped } = report.rows
  const refused = rowKinds.refuse + (unmapped === 0 ? '' : `, ${formatCount(unmapped)} of them without a domain`)
  return joined([
    `Import ${id} from ${sourceNames[source]}: ${state}, ${quantity(rows, 'row')}.${isPlan ? ' No link is stored yet.' : ''}`,
    error !== null && `The file can’t be imported. ${withOptionNames(error.message)}`,
    countTable('OUTCOME', outcomes, { ...rowKinds, refuse: refused }),
    describeFigures(record, isPlan ? stored.options.time_zone : null),
    lost.length > 0 && ['What changes or gets lost:', ...lost].join('\n'),
    isPlan && describeColumns(stored),
    isPlan && (await describeHosts(context, report)),
    isPlan && (await describeSamples(context, id)),
    await describeProblems(context, record, 'conflict'),
    await describeProblems(context, record, 'refuse'),
    describeNext(record, report),
  ])
}

function joined(parts: readonly (string | false)[]): string {
  return parts.filter(Boolean).join('\n\n')
}

function countTable<Name extends string>(
  title: string,
  counts: Readonly<Record<Name, number>>,
  names: Readonly<Record<NoInfer<Name>, string>>,
): string {
  const all = Object.entries<number>(counts).filter(([, count]) => count > 0)
  return table([[title, 'COUNT', ''], ...all.map(([name, count]) => [name, formatCount(count), names[name as Name]])])
}

/** `zone` is for times without one. */
function describeFigures(record: Import, zone: string | null): string {
  const { exact, case_insensitive, new_tags, clicks, click_days, first_link_at, last_link_at } = record
  const spelling = exact === 0 ? '' : ` (${formatCount(exact)} case-sensitive)`
  const figures = [
    quantity(exact + case_insensitive, 'new address', 'new addresses') + spelling,
    quantity(new_tags, 'new tag'),
    quantity(clicks, 'click') + (click_days === 0 ? '' : `, with times on ${quantity(click_days, 'day')} of links`),
    ...(first_link_at === null ? [] : [`created from ${first_link_at.slice(0, 10)} to ${last_link_at?.slice(0, 10)}`]),
    ...(first_link_at === null || zone === null ? [] : [`times without a zone are in ${zone}`]),
  ]
  return `${figures.join('; ')}.`
}

function describeColumns({ columns, source }: StoredImport): string | false {
  const read = columns.flatMap(({ name, field }) => (field === null || field === '-' ? [] : [`${name} → ${field}`]))
  const left = columns.flatMap(({ name, field }) => (field === '-' ? [name] : []))
  const unknown = columns.flatMap(({ name, field }) => (field === null ? [name] : []))
  const advice =
    source === 'csv' ? `. To read one, add --column '${unknown[0]}=FIELD', with ${columnFields.join(', ')}` : ''
  const lines = [
    `Columns: ${read.join(', ')}`,
    ...(left.length === 0 ? [] : [`Left out: ${left.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`Unknown, left out: ${unknown.join(', ')}${advice}`]),
  ]
  return columns.length > 0 && printable(lines.join('\n'))
}

/** Lists the hosts without a domain, with the options to add. */
async function describeHosts({ db, account }: ReportContext, { hosts }: ImportReport): Promise<string | false> {
  const domain = (await findLinkDomain(db, account, null))?.name ?? 'your.domain'
  const lines = hosts.map(({ host, rows }) => {
    const pair = host === '' ? `'*=${domain}'` : `${host}=${domain}`
    const own = host === '' || vendors.includes(host) ? '' : `, or run ${program} domains create ${host}`
    return [`  ${host || '(no host)'}`, quantity(rows, 'row'), `add --domain-map ${pair}${own}`]
  })
  return lines.length > 0 && `Hosts without a domain. Choose domains, and plan the file again:\n${table(lines)}`
}

/** Returns the first rows that an application would store, and the values that updates change. */
async function describeSamples(context: ReportContext, id: number): Promise<string | false> {
  const wanted = (['store', 'rename', 'update'] as const).map((outcome) =>
    findRows(context, id, { outcome }, maxSamples),
  )
  const all = (await Promise.all(wanted)).flat().sort((a, b) => a.row.id - b.row.id)
  const samples = all.slice(0, maxSamples)
  const lines = samples.map(({ row, stored }) => {
    const { fields, created_at, clicks } = stored.content
    const texts = [shorten(fields.title || '-'), shorten(fields.tags || '-'), created_at?.slice(0, 10) ?? '-']
    // Updates don't change clicks.
    const count = clicks === null || row.outcome === 'update' ? '-' : formatCount(clicks)
    return [String(row.id), describeAddresses(row), fields.url ?? '-', ...texts, count]
  })
  const changes = samples.flatMap(({ row, stored: { decision } }) =>
    decision.changes === null ? [] : [printable(`  ${describeAddresses(row)}: ${changesInWords(decision.changes)}`)],
  )
  const shown = table([['ROW', 'SHORT URL', 'URL', 'TITLE', 'TAGS', 'CREATED', 'CLICKS'], ...lines])
  const changed = changes.length > 0 && ['Changes of stored links:', ...changes].join('\n')
  return samples.length > 0 && joined([`The first rows in their final form:\n${shown}`, changed])
}

function describeAddresses({ addresses }: ImportRow): string {
  const all = addresses.map(({ short_url, exact }) => `${plainAddress(short_url ?? '')}${exact ? ' (exact)' : ''}`)
  return all.join(', ') || '(generated)'
}

/** Returns the first rows that a filter selects: their API records and their stored rows. */
async function findRows(
  { db, account, imports }: ReportContext,
  id: number,
  filter: Partial<ImportRowsQuery>,
  most: number,
) {
  const { rows } = await imports.firstRows(account, id, filter, most)
  const shortUrl = await ownShortUrls(db)
  return rows.map((stored) => ({ row: rowRecord(stored, shortUrl), stored }))
}

/** Returns a table of the first rows with an error or a conflict. */
async function describeProblems(context: ReportContext, { id, outcomes }: Import, outcome: 'conflict' | 'refuse') {
  const rows = await findRows(context, id, { outcome }, maxProblems)
  const isPart = outcomes[outcome] > rows.length
  const all = isPart ? ` To see all, run ${program} move rows ${id} --outcome ${outcome} --limit 1000` : ''
  const effect = outcome === 'refuse' ? ' (left out; they don’t block the others)' : ''
  return rows.length > 0 && `${rowKinds[outcome]}${effect}:${all}\n${rowTable(rows.map(({ row }) => row))}`
}

/** Writes the warnings about the first rows to stderr. */
export async function writeRowWarnings({ account, imports }: ReportContext, id: number, { err }: Terminal) {
  const { rows, total } = await imports.firstRows(account, id, { warning: true }, maxProblems)
  for (const { id: row, line, decision } of rows) {
    const place = line === null ? `Row ${row}` : `Line ${line}`
    for (const { message } of decision.warnings) err.write(`${place}: ${printable(message)}\n`)
  }
  const left = total - rows.length
  if (left > 0)
    err.write(`${quantity(left, 'more row')} with warnings. To see them, run ${program} move rows ${id} --json\n`)
}

/** Returns a table of rows. */
export function rowTable(rows: readonly ImportRow[]): string {
  const lines = rows.map(({ id, line, outcome, addresses, message, url, link_id, warnings }) => {
    const results = new Set(addresses.flatMap(({ proof }) => proof?.result ?? []))
    const reason = outcome === 'conflict' ? `Link ${link_id} has the address.` : withOptionNames(message ?? '')
    const old = addresses.map(({ old_url }) => plainAddress(old_url)).join(', ')
    const sentences = (warnings ?? []).map((each) => each.message)
    const notes = [[reason, ...results].filter(Boolean).join(', '), ...sentences].filter(Boolean)
    return [String(id), String(line ?? '-'), outcome, old || '-', url ?? '-', notes.join(' ') || '-']
  })
  return table([['ROW', 'LINE', 'OUTCOME', 'ADDRESS', 'URL', 'NOTE'], ...lines])
}

function describeNext({ id, undo_until }: Import, { next }: ImportReport): string | false {
  switch (next) {
    case 'questions':
      return 'Conflicts block the import. Plan the file again with --conflict skip, rename or update.'
    case 'apply':
      return `Next: ${program} move apply ${id}`
    case 'nothing':
      return 'There is nothing to apply.'
    case 'continue':
      return `To continue: ${program} move apply ${id}`
    case 'prove':
      return `Next: ${program} move proof ${id}\nTo undo it until ${undo_until?.slice(0, 10)}, run ${program} move undo ${id}`
    default:
      return false
  }
}

/** Describes a proof: the differences with both responses, and the DNS records to change next. */
export async function describeProof(context: ReportContext, { id, proof }: Import): Promise<string> {
  const different = (['differs', 'unreachable'] as const).map(async (result) => {
    const rows = await findRows(context, id, { proof: result }, maxProblems)
    const isPart = proof[result] > maxProblems
    const all = isPart ? `To see all, run ${program} move rows ${id} --proof ${result} --limit 1000\n` : ''
    const lines = rows.flatMap(({ row, stored }) =>
      row.addresses.flatMap(({ old_url, proof: each }, at) => {
        if (each?.result !== result) return []
        const old =
          each.old.status === null ? explainUnreachable(stored.addresses[at]?.reason ?? null) : formatResponse(each.old)
        return [[plainAddress(old_url), old, formatResponse(each.new)]]
      }),
    )
    return rows.length > 0 && all + table([['ADDRESS', 'OLD SERVICE', 'HERE'], ...lines])
  })
  const tables = await Promise.all(different)
  return joined([countTable('RESULT', proof, resultNames), ...tables, await describeDns(context, id, proof)])
}

function formatResponse({
  status,
  location,
}: {
  readonly status: number | null
  readonly location: string | null
}): string {
  return [status ?? '-', location ?? ''].join(' ').trim()
}

/** Returns the DNS records to change for the hosts of an import. */
async function describeDns({ db, account }: ReportContext, id: number, proof: Import['proof']): Promise<string> {
  const publicHost = URL.parse(readOwnUrl((await findInstanceUrls(db)).base_url) ?? '')?.hostname ?? null
  const checks = new DomainChecks({ storage: db, shortUrl: await ownShortUrls(db) })
  const lines = new Set<string>()
  for (const { host, domain, isCopied } of await findMovedHosts(db, account, id)) {
    if (isCopied) lines.add(`  ${host}: nothing, because its links were copied to ${domain.name}`)
    else {
      const records = await findRecordsToSet(db, account, domain, { publicHost, checks })
      for (const { type, name, value } of records) lines.add(`  ${name} ${type} ${value}`)
      if (records.length === 0) lines.add(`  ${domain.name}: an A or AAAA record with the IP address of this server`)
    }
  }
  const { all, checked, problems } = reportProof({ proof })
  const isOpen = problems > 0 || checked < all
  const advice = isOpen ? 'Look at these addresses before you change the DNS.' : 'Next, change the DNS.'
  return `${advice} Note the current records, so that you can change them back:\n${[...lines].join('\n')}`
}
