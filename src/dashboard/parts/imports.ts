/** What pages say about imports. */
import { type Html, html } from '../../http/html.ts'
import type { LossKind } from '../../imports/file-row.ts'
import type { UnreachableReason } from '../../imports/old-service.ts'
import type { ProofResult } from '../../imports/proof.ts'
import { type ImportState, isLeftOut, type RowOutcome } from '../../imports/schema.ts'
import type { StoredImport } from '../../imports/store.ts'
import { quantity } from '../../lib/format.ts'
import { linkLabels } from '../../links/schema.ts'

export const stateNames: Readonly<Record<ImportState, string>> = {
  ...{ planning: 'Being read', failed: 'Failed', planned: 'Plan', applying: 'Importing', applied: 'Imported' },
  ...{ undoing: 'Being undone', undone: 'Undone' },
}

/** Outcomes of rows. Those whose host has no domain yet are questions, not errors. */
export type RowKind = RowOutcome | 'unmapped'

export const outcomeNames: Readonly<Record<RowKind, string>> = {
  ...{ store: 'New links', rename: 'New, renamed', update: 'Updated', known: 'Already there', skip: 'Left out' },
  ...{ conflict: 'Conflicts', unmapped: 'Without a domain', refuse: 'Errors' },
}

/** Returns the hosts whose rows have no domain yet. '' stands for rows without a host. */
export function openHosts({ options, summary }: Pick<StoredImport, 'options' | 'summary'>) {
  return summary.unmapped_hosts.filter(({ host }) => !isLeftOut(options, host))
}

/** Returns the number of rows of each kind. */
export function countRows(stored: Pick<StoredImport, 'options' | 'summary'>): Record<RowKind, number> {
  const { outcomes } = stored.summary
  const unmapped = openHosts(stored).reduce((sum, { rows }) => sum + rows, 0)
  return { ...outcomes, refuse: outcomes.refuse - unmapped, unmapped }
}

export const resultNames: Readonly<Record<ProofResult, string>> = {
  pending: 'Not checked',
  same: 'Same response',
  same_location: 'Same destination, other status',
  differs: 'Different',
  unreachable: 'No answer',
}

const unreachable: Readonly<Record<string, string>> = {
  points_here: 'The host already points to this server',
  no_address: 'The host has no IP address',
  private_address: 'The host has a private IP address',
  no_connection: 'No connection',
  certificate: 'The TLS certificate isn’t valid',
  timeout: 'No response in time',
  invalid_response: 'The response can’t be read',
} satisfies Record<UnreachableReason, string>

/** Says why there is no response of an old service. */
export function unreachableText(reason: string | null): string {
  return unreachable[reason ?? ''] ?? 'No response'
}

const steps = { file: 'File', plan: 'Plan', result: 'Result' }

/** Renders the steps of an import. */
export function importSteps(current: keyof typeof steps): Html {
  const all = Object.entries(steps).map(
    ([name, label]) => html`<li${name === current ? html` aria-current="step"` : null}>${label}</li>`,
  )
  return html`<ol class="steps" aria-label="Steps">${all}</ol>`
}

/** Returns a short URL as plans write all addresses: without a scheme and a port, which files may lack. */
export function plainAddress(shortUrl: string): string {
  return shortUrl.replace(/^https?:\/\/([^/:]+)(?::\d+)?/i, '$1')
}

const links = (rows: number) => quantity(rows, 'link')

const losses: Readonly<Record<LossKind, (rows: number) => string>> = {
  password: (rows) => `Passwords: can’t be read, ${links(rows)} will be disabled`,
  created_at: (rows) => `Creation times: ${links(rows)} without one get the time of the import`,
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

/** Says what is lost, and of how many rows. */
export function lossText(kind: LossKind, rows: number): string {
  return losses[kind](rows)
}

const fixes: Readonly<Record<string, string>> = {
  unmapped_host: 'No domain is chosen for its host. Choose one above.',
  root_link: 'The address has no path. Set the homepage of the domain instead.',
  duplicate_address: 'An earlier row has the address, with another destination. Delete one of the rows.',
}

/** Says why a row is refused, and how to fix it, without the names of fields in the API. */
export function reasonText(code: string | null, message: string | null): string {
  if (code !== null && Object.hasOwn(fixes, code)) return fixes[code] ?? ''
  const named = (name: string) => linkLabels[name as keyof typeof linkLabels] ?? name
  return (message ?? '').replace(/\b(?:url|[a-z]+(?:_[a-z]+)+)\b/g, (name) => `“${named(name)}”`)
}
