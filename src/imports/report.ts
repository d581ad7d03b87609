/** What an import would do or has done: data that pages and commands show, each in its own form. */
import type { Domain } from '../domains/schema.ts'
import { domainRecords } from '../domains/store.ts'
import { quantity } from '../lib/format.ts'
import type { Storage } from '../storage/port.ts'
import { program } from '../version.ts'
import type { LossKind } from './file-row.ts'
import type { UnreachableReason } from './old-service.ts'
import { type ProofResult, proofResults } from './proof.ts'
import { findHosts } from './proofs/store.ts'
import { type Import, type ImportState, isLeftOut, type RowOutcome } from './schema.ts'
import { interrupted, planEnded, type StoredImport } from './store.ts'

export const stateNames: Readonly<Record<ImportState, string>> = {
  ...{ planning: 'Being read', failed: 'Failed', planned: 'Plan', applying: 'Importing', applied: 'Imported' },
  ...{ undoing: 'Being undone', undone: 'Undone' },
}

/** Outcomes of rows. A row whose host has no domain yet is a question, not an error. */
export type RowKind = RowOutcome | 'unmapped'

export const rowKinds: Readonly<Record<RowKind, string>> = {
  ...{ store: 'New links', rename: 'New, renamed', update: 'Updated', known: 'Already there', skip: 'Left out' },
  ...{ conflict: 'Conflicts', unmapped: 'Without a domain', refuse: 'Errors' },
}

export const resultNames: Readonly<Record<ProofResult, string>> = {
  ...{ pending: 'Not checked', same: 'Same response', same_location: 'Same destination, other status' },
  ...{ differs: 'Different', unreachable: 'No answer' },
}

/** The next step. `questions`: conflicts block the import until someone chooses what happens to them. */
type NextStep = 'questions' | 'apply' | 'nothing' | 'continue' | 'prove' | null

export interface ImportReport {
  /** The number of rows of each kind. */
  readonly rows: Readonly<Record<RowKind, number>>
  /** Links that are stored. */
  readonly created: number
  /** Sentences about data that isn't stored. */
  readonly losses: readonly string[]
  /** Hosts whose rows have no domain yet. '' stands for rows without a host. */
  readonly hosts: StoredImport['summary']['unmapped_hosts']
  readonly next: NextStep
}

/** Returns the report of a plan or an import. */
export function reportImport({
  state,
  options,
  summary,
}: Pick<StoredImport, 'state' | 'options' | 'summary'>): ImportReport {
  const { outcomes, losses, unmapped_hosts } = summary
  const hosts = unmapped_hosts.filter(({ host }) => !isLeftOut(options, host))
  const unmapped = hosts.reduce((sum, { rows }) => sum + rows, 0)
  const created = outcomes.store + outcomes.rename
  return {
    rows: { ...outcomes, refuse: outcomes.refuse - unmapped, unmapped },
    created,
    losses: losses.map(({ kind, rows }) => describeLoss(kind, rows)),
    hosts,
    next: findNextStep(state, outcomes),
  }
}

/** Returns what can follow the state of an import. */
export function findNextStep(state: ImportState, { store, rename, update, conflict }: Import['outcomes']): NextStep {
  if (state === 'applying') return 'continue'
  if (state === 'applied') return 'prove'
  if (state !== 'planned') return null
  return conflict > 0 ? 'questions' : store + rename + update > 0 ? 'apply' : 'nothing'
}

export interface ProofReport {
  /** The results that addresses have, with their names. */
  readonly results: readonly (readonly [result: ProofResult, name: string, addresses: number])[]
  readonly all: number
  readonly checked: number
  /** Addresses to look at before the DNS is changed. */
  readonly problems: number
}

/** Returns the report of the proof of an import. */
export function reportProof({ proof }: Pick<Import, 'proof'>): ProofReport {
  const all = proofResults.reduce((sum, each) => sum + proof[each], 0)
  return {
    results: proofResults.flatMap((each) => (proof[each] > 0 ? [[each, resultNames[each], proof[each]] as const] : [])),
    ...{ all, checked: all - proof.pending, problems: proof.differs + proof.unreachable },
  }
}

/** A host in the file, and the domain of its links. If they were copied there, the host's DNS stays unchanged. */
export interface MovedHost {
  readonly host: string
  readonly domain: Domain
  readonly isCopied: boolean
}

/** Finds the hosts in the file of an import. */
export async function findMovedHosts(storage: Storage, account: number, importId: number): Promise<MovedHost[]> {
  const hosts = await findHosts(storage, account, importId)
  const ids = [...new Set(hosts.map(({ domain_id }) => domain_id))]
  const domains = await domainRecords.findAll(storage, account, ids)
  return hosts.flatMap(({ host, domain_id }) => {
    const domain = domains.get(domain_id)?.record
    return domain === undefined ? [] : [{ host, domain, isCopied: host !== '' && host !== domain.name }]
  })
}

const unreachable: Readonly<Record<UnreachableReason, string>> = {
  points_here: 'The host already points to this server',
  no_address: 'The host has no IP address',
  private_address: 'The host has a private IP address',
  no_connection: 'No connection',
  certificate: 'The TLS certificate isn’t valid',
  timeout: 'No response in time',
  invalid_response: 'The response can’t be read',
}

/** Says why there is no response of an old service. */
export function explainUnreachable(reason: string | null): string {
  return unreachable[reason as UnreachableReason] ?? 'No response'
}

/** Says what is lost, and of how many rows. */
export function describeLoss(kind: LossKind, rows: number): string {
  return lossTexts[kind](rows)
}

const links = (rows: number) => quantity(rows, 'link')

const lossTexts: Readonly<Record<LossKind, (rows: number) => string>> = {
  password: (rows) => `Passwords: can’t be read, ${links(rows)} will be disabled`,
  created_at: (rows) => `Creation times: the time of the import for ${links(rows)} without one`,
  tags: (rows) => `Tags: ${links(rows)} with more than 20, or with names that are too long or have a comma, lose them`,
  title: (rows) => `Titles: cut to 255 characters in ${links(rows)}`,
  notes: (rows) => `Notes: cut to 2,000 characters in ${links(rows)}`,
  rules: (rows) =>
    `Redirects by country, language or device: not imported, ${links(rows)} get only the main destination`,
  tracking: (rows) => `Pixels and conversions: not imported, ${links(rows)}`,
  preview_card: (rows) => `Custom previews for social networks: not imported, ${links(rows)}`,
  cloaking: (rows) => `Destinations in a frame: ${links(rows)} become redirects`,
  click_times: (rows) => `Click counts: imported as totals for ${links(rows)}, because the file has no times`,
  orphan_clicks: (rows) => `Clicks on ${quantity(rows, 'address', 'addresses')} that the file doesn’t have: left out`,
}

/** Returns a short URL as plans write all addresses: without a scheme and a port, which files may lack. */
export function plainAddress(shortUrl: string): string {
  return shortUrl.replace(/^https?:\/\/([^/:]+)(?::\d+)?/i, '$1')
}

/** Returns why a file can't be imported, for a page or for a command. */
export function explainError({ code, message }: NonNullable<Import['error']>, reader: 'page' | 'command'): string {
  if (code !== interrupted.code) return message
  return reader === 'page' ? planEnded.forForm(null) : planEnded.forCommand('id', String, program)
}
