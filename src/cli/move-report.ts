/** What commands print about imports. */
import { ownShortUrls } from '../app/local.ts'
import { readOwnUrl } from '../config/config.ts'
import { domainOperations } from '../domains/operations.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { ImportActions } from '../imports/actions.ts'
import { columnFields } from '../imports/csv-columns.ts'
import { vendors } from '../imports/refusals.ts'
import {
  describeLoss,
  explainError,
  explainUnreachable,
  findMovedHosts,
  findNextStep,
  type ImportReport,
  plainAddress,
  reportImport,
  reportProof,
  resultNames,
  rowKinds,
} from '../imports/report.ts'
import { type Import, type ImportRow, importOperations } from '../imports/schema.ts'
import { sourceNames } from '../imports/source-names.ts'
import type { StoredImport } from '../imports/store.ts'
import { findInstanceUrls } from '../instance/store.ts'
import { formatCount, quantity } from '../lib/format.ts'
import { DomainChecks } from '../reachability/checks.ts'
import { findRecordsToSet } from '../reachability/store.ts'
import type { Storage } from '../storage/port.ts'
import { program } from '../version.ts'
import type { Client } from './client.ts'
import type { Terminal } from './command.ts'
import { changesInWords } from './history.ts'
import { type Listed, printable, shorten, table } from './output.ts'
import type { NamedRecord } from './references.ts'

/** Rows in their final form, and rows with errors or differences. */
const [maxSamples, maxProblems] = [10, 20]

/** What only the process knows that has planned an import: the zone of times without one, its columns, hosts and first rows. */
export interface PlanDetails {
  readonly zone: string | null
  /** The number of rows whose host has no domain. */
  readonly unmapped: number
  readonly sections: readonly (string | false)[]
}

const noDetails: PlanDetails = { zone: null, unmapped: 0, sections: [] }

/** Describes a plan or an import: outcomes, losses, details of the plan, errors, and the next command. */
export async function describeImport(client: Client, record: Import, details = noDetails): Promise<string> {
  const { id, source, state, rows, outcomes, error } = record
  const isPlan = state === 'planned'
  const refused =
    details.unmapped === 0
      ? rowKinds.refuse
      : `${rowKinds.refuse}, ${formatCount(details.unmapped)} of them without a domain`
  const lost = record.losses.map(({ kind, rows }) => `  ${describeLoss(kind, rows)}`)
  return joined([
    `Import ${id} from ${sourceNames[source]}: ${state}, ${quantity(rows, 'row')}.${isPlan ? ' No link is stored yet.' : ''}`,
    error !== null && `The file can’t be imported. ${explainError(error, 'command')}`,
    countTable('OUTCOME', outcomes, { ...rowKinds, refuse: refused }),
    describeFigures(record, details.zone),
    lost.length > 0 && ['What changes or gets lost:', ...lost].join('\n'),
    ...details.sections,
    await describeProblems(client, record, 'conflict'),
    await describeProblems(client, record, 'refuse'),
    describeNext(record),
  ])
}

/** Returns what `describeImport` adds to a plan. */
export async function readPlanDetails(context: PlanContext): Promise<PlanDetails> {
  const { stored } = context
  const { rows, hosts } = reportImport(stored)
  return {
    zone: stored.options.time_zone,
    unmapped: rows.unmapped,
    sections: [describeColumns(stored), await describeHosts(context, hosts), await describeSamples(context)],
  }
}

/** A stored plan, and how its rows are read. */
export interface PlanContext {
  readonly client: Client
  readonly imports: ImportActions
  readonly account: number
  readonly stored: StoredImport
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
async function describeHosts({ client }: PlanContext, hosts: ImportReport['hosts']): Promise<string | false> {
  const { rows: domains } = await client.list<NamedRecord>(domainOperations.list, 1, { fields: { sort: 'asc' } })
  const domain = domains[0]?.name ?? 'your.domain'
  const lines = hosts.map(({ host, rows }) => {
    const pair = host === '' ? `'*=${domain}'` : `${host}=${domain}`
    const own = host === '' || vendors.includes(host) ? '' : `, or run ${program} domains create ${host}`
    return [`  ${host || '(no host)'}`, quantity(rows, 'row'), `add --domain-map ${pair}${own}`]
  })
  return lines.length > 0 && `Hosts without a domain. Choose domains, and plan the file again:\n${table(lines)}`
}

/** Returns the first rows that an application would store, and the values that updates change. */
async function describeSamples({ imports, account, stored: { id } }: PlanContext): Promise<string | false> {
  const wanted = (['store', 'rename', 'update'] as const).map(async (outcome) => {
    const { rows } = await imports.firstRows(account, id, { outcome }, maxSamples)
    return rows.map((stored) => ({ stored, row: imports.showRow(stored) }))
  })
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

/** Returns the first rows that a filter selects. */
function firstRows(client: Client, id: number, filter: Fields): Promise<Listed<ImportRow>> {
  return client.list<ImportRow>(importOperations.rows, maxProblems, { id, fields: filter })
}

/** Returns a table of the first rows with an error or a conflict. */
async function describeProblems(client: Client, { id }: Import, outcome: 'conflict' | 'refuse') {
  const { rows, total } = await firstRows(client, id, { outcome })
  const isPart = total > rows.length
  const all = isPart ? ` To see all, run ${program} move rows ${id} --outcome ${outcome} --limit 1000` : ''
  const effect = outcome === 'refuse' ? ' (left out; they don’t block the others)' : ''
  return rows.length > 0 && `${rowKinds[outcome]}${effect}:${all}\n${rowTable(rows)}`
}

/** Writes the warnings about the first rows to stderr. */
export async function writeRowWarnings(client: Client, id: number, { err }: Terminal) {
  const { rows, total } = await firstRows(client, id, { warning: 'any' })
  for (const { id: row, line, warnings = [] } of rows) {
    const place = line === null ? `Row ${row}` : `Line ${line}`
    for (const { message } of warnings) err.write(`${place}: ${printable(message)}\n`)
  }
  const left = total - rows.length
  if (left > 0)
    err.write(`${quantity(left, 'more row')} with warnings. To see them, run ${program} move rows ${id} --json\n`)
}

/** Returns a table of rows. */
export function rowTable(rows: readonly ImportRow[]): string {
  const lines = rows.map(({ id, line, outcome, addresses, message, url, link_id, warnings }) => {
    const results = new Set(addresses.flatMap(({ proof }) => proof?.result ?? []))
    const reason = outcome === 'conflict' ? `Link ${link_id} has the address.` : (message ?? '')
    const old = addresses.map(({ old_url }) => plainAddress(old_url)).join(', ')
    const sentences = (warnings ?? []).map((each) => each.message)
    const notes = [[reason, ...results].filter(Boolean).join(', '), ...sentences].filter(Boolean)
    return [String(id), String(line ?? '-'), outcome, old || '-', url ?? '-', notes.join(' ') || '-']
  })
  return table([['ROW', 'LINE', 'OUTCOME', 'ADDRESS', 'URL', 'NOTE'], ...lines])
}

function describeNext({ id, state, outcomes, undo_until }: Import): string | false {
  switch (findNextStep(state, outcomes)) {
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

/**
 * Describes a proof: the differences with both responses, and the DNS records to change next. It reads the database, because
 * the API doesn't say why a service didn't respond, and has no checks of domains.
 */
export async function describeProof(
  { db, account, imports }: { readonly db: Storage; readonly account: number; readonly imports: ImportActions },
  record: Import,
): Promise<string> {
  const { id, proof } = record
  const different = (['differs', 'unreachable'] as const).map(async (result) => {
    const { rows, total } = await imports.firstRows(account, id, { proof: result }, maxProblems)
    const isPart = total > rows.length
    const all = isPart ? `To see all, run ${program} move rows ${id} --proof ${result} --limit 1000\n` : ''
    const lines = rows.flatMap((stored) =>
      imports.showRow(stored).addresses.flatMap(({ old_url, proof: each }, at) => {
        if (each?.result !== result) return []
        const reason = explainUnreachable(stored.addresses[at]?.reason ?? null)
        const old = each.old.status === null ? reason : formatResponse(each.old)
        return [[plainAddress(old_url), old, formatResponse(each.new)]]
      }),
    )
    return rows.length > 0 && all + table([['ADDRESS', 'OLD SERVICE', 'HERE'], ...lines])
  })
  const tables = await Promise.all(different)
  return joined([countTable('RESULT', proof, resultNames), ...tables, await describeDns(db, account, record)])
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
async function describeDns(db: Storage, account: number, { id, proof }: Import): Promise<string> {
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
