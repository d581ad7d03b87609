/** The result of an import: its progress, the check of the old links, and the DNS records to change next. */
import { allows } from '../../access/actor.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { explainError, explainUnreachable, findMovedHosts, reportProof, resultNames } from '../../imports/report.ts'
import type { Import } from '../../imports/schema.ts'
import { nameOrigin } from '../../imports/source-names.ts'
import type { ListedAddress } from '../../imports/staging/store.ts'
import type { Job } from '../../jobs/store.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { DomainChecks } from '../../reachability/checks.ts'
import { findChecks, findReachedDomain } from '../../reachability/store.ts'
import { livePart } from '../frame.ts'
import type { PageContent, PageRequest } from '../page.ts'
import { linkButton, onceField, submitButton } from '../parts/buttons.ts'
import { timeAgo } from '../parts/format.ts'
import { importSteps } from '../parts/imports.ts'
import { destination } from '../parts/links.ts'
import { confirmLink } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { dnsAdviceFor } from './domain-reachability.ts'
import { readPublicHost } from './domains.ts'
import type { ShownImport } from './import-plan.ts'
import { figures, newAddress, oldAddress, type RowServices, rowList, rowsSection, tabBar } from './import-rows.ts'

export interface ResultServices extends RowServices {
  readonly dashboardUrl: (exchange: Exchange) => string
  readonly checks: Pick<DomainChecks, 'cachedAddresses' | 'publicAddresses'>
}

export async function resultPage(
  { stored, record }: ShownImport,
  request: PageRequest,
  services: ResultServices,
): Promise<PageContent> {
  const { state, source } = record
  const isWriter = allows(request.actor, 'imports:write')
  const isApplied = state === 'applied'
  const body = html`${importSteps('result')}${progressSection({ stored, record }, isWriter)}
${isApplied ? html`${await proofSection({ stored, record }, request, services)}${await dnsSection(record, request, services)}` : null}
${state === 'undone' ? null : await rowsSection(stored, request, services)}`
  const isRunning = record.progress !== null
  return { title: `Import ${nameOrigin(source)}`, section: 'links', body, isRefreshed: isRunning }
}

/** Renders an import whose file is being read, or can't be imported. */
export function readingPage({ source, error, rows }: Import): PageContent {
  const shown = { title: `Import ${nameOrigin(source)}`, section: 'links' } as const
  if (error === null) {
    const label = 'Rows read'
    const bar = html`<p>${label}: ${formatCount(rows)}</p><progress aria-label="${label}"></progress>`
    const body = html`${importSteps('file')}<section id="progress" data-refresh>${livePart('plan', bar)}</section>`
    return { ...shown, body, isRefreshed: true }
  }
  const again = linkButton({ label: 'Choose another file', href: '/app/import' })
  const reason = html`<p class="attention">The file can’t be imported. ${explainError(error, 'page')}</p>`
  const arrived = html`<section id="progress" data-arrived="The file can’t be imported">${reason}<div class="actions">${again}</div></section>`
  return { ...shown, body: html`${importSteps('file')}${arrived}` }
}

function jobButton(id: number, verb: string, label: string, weight: 'primary' | 'plain' = 'primary'): Html {
  return html`<form method="post" action="/app/import/${id}/${verb}">${onceField()}${submitButton({ label, weight })}</form>`
}

/** Renders a part whose script asks for its end. */
function running(id: string, label: string, { done, total }: Pick<Job, 'done' | 'total'>): Html {
  const bar = html`<p>${label}: ${formatCount(done)} of ${formatCount(total)}</p><progress max="${Math.max(1, total)}" value="${done}" aria-label="${label}"></progress>`
  return livePart(id, bar)
}

function progressSection({ stored, record }: ShownImport, isWriter: boolean): Html {
  const { id, state, outcomes, clicks, applied_at, undo_until } = record
  const writer = (control: Html) => (isWriter ? control : null)
  const undo = confirmLink('Undo import', `/app/import/${id}/undo`)
  const { job } = stored
  const isRunning = job?.kind === 'apply' || job?.kind === 'undo'
  const attributes = isRunning
    ? html` data-refresh`
    : html` data-arrived="${state === 'undone' ? 'Import undone' : 'Import complete'}"`
  const content = () => {
    switch (state) {
      case 'applying':
        if (job?.kind === 'apply') return running('apply', 'Rows imported', job)
        return html`<p class="attention">The import was interrupted after ${quantity(stored.appliedRow, 'row')}. No row is stored twice.</p>${writer(html`<div class="actions">${jobButton(id, 'apply', 'Continue')}${undo}</div>`)}`
      case 'undoing':
        return job && running('undo', 'Changes undone', job)
      case 'undone':
        return html`<p>The import is undone. ${undoneText(outcomes)}</p>${writer(html`<div class="actions">${linkButton({ label: 'Import again', href: '/app/import' })}</div>`)}`
      default: {
        const changes = linkButton({ label: 'View the changes', href: `/app/history?batch_id=${stored.batchId}` })
        const until = undo_until === null ? null : html` You can undo it until ${timeAgo(undo_until, Date.now())}.`
        return html`<p>Imported ${timeAgo(applied_at ?? 0, Date.now())}.${until}</p>${figures(stored, [['Clicks', formatCount(clicks)]])}<div class="actions">${changes}${writer(undo)}</div>`
      }
    }
  }
  return html`<section id="progress"${attributes}><h2>Result</h2>${content()}</section>`
}

function undoneText({ store, rename, update }: Import['outcomes']): string {
  const parts = [
    ...(update > 0 ? ['Updated links have their previous values again.'] : []),
    ...(store + rename > 0 ? ['New links are deleted.'] : []),
  ]
  return parts.join(' ')
}

/** Results whose addresses need a look. */
const differing = ['differs', 'unreachable', 'same_location'] as const

async function proofSection(
  { stored, record }: ShownImport,
  request: PageRequest,
  services: ResultServices,
): Promise<Html> {
  const { id, proof } = record
  const report = reportProof(record)
  const { all, checked } = report
  const isRunning = stored.proof !== null
  const why =
    'Waymark opens every address at the old service, and compares the response with its own. Nothing is counted. Each host gets one request at a time, at most five per second.'
  const start = allows(request.actor, 'imports:write')
    ? html`<div class="actions">${jobButton(id, 'proof', checked === 0 ? 'Check the old links' : proof.same === all ? 'Check again' : 'Check the others again', checked === 0 ? 'primary' : 'plain')}</div>`
    : null
  const stop = allows(request.actor, 'imports:write')
    ? html`<div class="actions">${jobButton(id, 'proof/stop', 'Stop the check', 'plain')}</div>`
    : null
  const shown = report.results.map(
    ([, name, addresses]) =>
      html`<div><dt>${name}</dt><dd><span class="figure">${formatCount(addresses)}</span></dd></div>`,
  )
  const counts = checked === 0 ? null : html`<dl class="figures">${shown}</dl>`
  const content = isRunning
    ? html`${running('proof', 'Addresses checked', stored.proof)}${stop}`
    : html`${renderVerdict(record)}${counts}${start}${await differences(record, request, services)}`
  return html`<section id="proof"${isRunning ? html` data-refresh` : html` data-arrived="Check complete"`}><h2>Check the old links</h2><p>${why}</p>${content}</section>`
}

/** Says what the check has found; null before all addresses are checked. */
function renderVerdict({ proof }: Import): Html | null {
  const { same_location, differs, unreachable } = proof
  const { all, checked, problems } = reportProof({ proof })
  if (checked < all || all === 0) return null
  if (problems > 0) {
    const found = [
      ...(differs > 0 ? [`${quantity(differs, 'address', 'addresses')} respond differently`] : []),
      ...(unreachable > 0 ? [`${quantity(unreachable, 'address', 'addresses')} could not be compared`] : []),
    ]
    return html`<p class="attention">${found.join(', and ')}. Look at them before you change the DNS.</p>`
  }
  const other =
    same_location > 0
      ? ` ${quantity(same_location, 'address', 'addresses')} use another redirect status there, which visitors don’t notice.`
      : null
  return html`<p>All ${quantity(all, 'address', 'addresses')} lead to the same place here as there.${other}</p>`
}

/** Renders a page of the addresses with other responses, both of them side by side. */
async function differences(
  { id, proof }: ShownImport['record'],
  request: PageRequest,
  services: ResultServices,
): Promise<Html | null> {
  const found = differing.filter((each) => proof[each] > 0)
  const [first] = found
  if (first === undefined) return null
  const path = `/app/import/${id}`
  const asked = found.find((each) => each === request.query.proof) ?? first
  const list = rowList(path, request, [], {
    proof: asked,
    sort: 'asc',
    ...(request.query.proof === asked && request.query.page !== undefined && { page: request.query.page }),
  })
  const page = await services.imports.listStoredRows(request.account, id, list.query)
  const addresses = page.rows.flatMap((row) => row.addresses.filter(({ result }) => result === asked))
  const tabs = found.map(
    (each) =>
      [`${path}?proof=${each}#proof`, `${resultNames[each]} ${formatCount(proof[each])}`, each === asked] as const,
  )
  const rows = table<ListedAddress>({
    caption: resultNames[asked],
    rows: addresses,
    columns: [
      {
        label: 'Address',
        kind: 'lead',
        cell: (each) => html`${oldAddress(each)}<span class="leads">${newAddress(each, services.shortUrl)}</span>`,
      },
      {
        label: 'Old service',
        width: 'rest',
        cell: (each) => response(each.old_status, each.old_location, each.reason),
      },
      { label: 'Here', width: 'rest', cell: (each) => response(each.new_status, each.new_location, null) },
    ],
  })
  return html`${tabBar('Results', tabs)}${rows}${list.pagination(page)}`
}

function response(status: number | null, location: string | null, reason: string | null): Part {
  if (status === null) return explainUnreachable(reason)
  return html`${status}${location === null ? null : html` ${destination(location, 60)}`}`
}

/** Renders what to do with the DNS of each host. */
async function dnsSection(
  { id, proof }: Import,
  request: PageRequest,
  { storage, checks, dashboardUrl }: ResultServices,
): Promise<Html | null> {
  const { account, exchange } = request
  const hosts = await findMovedHosts(storage, account, id)
  const ids = hosts.map(({ domain }) => domain.id)
  const [last, reached] = await Promise.all([findChecks(storage, account, ids), findReachedDomain(storage, account)])
  const publicHost = readPublicHost(dashboardUrl(exchange))
  const parts = hosts.map(({ host, domain, isCopied }) => {
    const name = html`<bdi>${domain.name_unicode}</bdi>`
    if (isCopied)
      return html`<section class="stack"><h3><bdi>${host}</bdi></h3><p>Its links are copied to ${name}. Links to <bdi>${host}</bdi> keep going to the old service, whatever you change here.</p></section>`
    const check = last.get(domain.id)
    const advice =
      check?.answer === 'here'
        ? html`<p>Visitors of ${name} reach this server already.</p>`
        : dnsAdviceFor({ domain, check, publicHost, checks, reached })
    return html`<section class="stack"><h3>${name}</h3>${advice}</section>`
  })
  if (parts.length === 0) return null
  return html`<section id="dns"><h2>Then change the DNS</h2>${proof.pending > 0 ? html`<p>First check the old links, above.</p>` : null}<p>Note the current records first. If something is wrong, change them back: the old service keeps its links until you delete them there.</p>${parts}</section>`
}
