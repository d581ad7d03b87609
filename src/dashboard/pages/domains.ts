import { findTimeZones } from '../../accounts/store.ts'
import { calendarOf } from '../../analytics/calendar.ts'
import { rankingOf, seriesOf } from '../../analytics/statistics/statistics.ts'
import type { DomainActions } from '../../domains/actions.ts'
import { type Domain, domainLabels } from '../../domains/schema.ts'
import { Failure } from '../../errors.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { lastClickOn } from '../../links/store.ts'
import { parseHostName } from '../../names/host-name.ts'
import { addressesIn, DomainChecks, type Reachability } from '../../reachability/checks.ts'
import { type DnsRecord, recordsFor } from '../../reachability/dns.ts'
import type { Db } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import { idParam, type Pages, Redirect, type Services } from '../pages.ts'
import { copyButton, linkButton } from '../parts/buttons.ts'
import { type FormState, textField } from '../parts/fields.ts'
import { quantity, timeAgo } from '../parts/format.ts'
import { destination, linkCount } from '../parts/links.ts'
import { table } from '../parts/table.ts'
import { attempt, differing } from '../record-forms.ts'
import { returnPath } from '../return-path.ts'
import { GroupPages } from './groups.ts'

const home = '/app/domains'

export function addDomainPages(pages: Pages, services: Services): void {
  const {
    storage,
    shortUrl,
    dashboardUrl,
    actions: { domains },
  } = services
  const checks = new DomainChecks({ storage, shortUrl })
  new GroupPages<Domain>(services, {
    what: 'domain',
    words: {
      list: 'Domains',
      add: 'Add domain',
      create: 'Add domain',
      none: 'No domains yet',
      why: 'Every short link starts with a domain you own, such as go.example.com.',
      created: 'Added',
      statistics: 'Clicks on this domain',
    },
    nameOf: ({ name_unicode }) => name_unicode,
    heading: ({ name_unicode }) => html`<bdi>${name_unicode}</bdi>`,
    columns: [
      {
        label: domainLabels.homepage_url,
        width: 'rest',
        leaves: 1,
        cell: ({ row }) => (row.homepage_url === null ? noHomepage(row) : destination(row.homepage_url, 40)),
      },
      {
        label: 'Links',
        width: 'small',
        cell: ({ row, links }) => linkCount(`domain_id=${row.id}`, links),
        isPlain: true,
      },
    ],
    details: async ({ exchange, query }, domain) => {
      const publicHost = URL.parse(dashboardUrl(exchange))?.hostname ?? null
      return dnsSection({ domain, publicHost, checks, isCheckRequested: query.check !== undefined })
    },
    deletion: async ({ id, name_unicode }, total, links, account) => [
      total === 0 ? `Delete ${name_unicode}?` : `Delete ${name_unicode} and its ${links}?`,
      html`${await recentClicks(storage, account, id)} Visitors will see a 404 immediately.`,
      'You can undo this for a minute.',
    ],
    isNamed: (domain, text) => isNameOf(domain, text),
    remove: (account, id) => domains.removeForNow(account, id),
    actions: {
      ...domains,
      insertion: (account, fields) => domains.insertion(account, { ...fields, name: hostOfUrl(fields.name) }),
    },
    initialValues: async () => ({}),
    newControls: newDomainFields,
    editForm: async ({ name_unicode, homepage_url, not_found_url }) => ({
      name: name_unicode,
      controls: urlFields,
      differences: (sent) =>
        differing([
          { label: domainLabels.homepage_url, yours: sent.homepage_url, theirs: homepage_url ?? '' },
          { label: domainLabels.not_found_url, yours: sent.not_found_url, theirs: not_found_url ?? '' },
        ]),
    }),
  }).addTo(pages)
  addRestoration(pages, domains)
}

function addRestoration(pages: Pages, domains: DomainActions): void {
  pages.post(`${home}/:id/restore`, async (request) => {
    const id = idParam(request, 'domain')
    const page = request.fields.next === undefined ? home : returnPath(request.fields.next)
    const domain = await attempt(() => domains.restore(request.account, id))
    if (domain instanceof Failure) return new Redirect(page, { code: 'domain-name-taken' })
    return new Redirect(
      page,
      domain === undefined ? { code: 'domain-too-late' } : { code: 'domain-restored', ids: [id] },
    )
  })
}

function noHomepage({ id, name_unicode }: Domain): Html {
  const action = html`<a href="${home}/${id}/edit#field-homepage_url" aria-label="Set homepage for ${name_unicode}">Set homepage</a>`
  return html`<span class="pair"><span class="state expired">${icon('warning')}No homepage</span> ${action}</span>`
}

/** The days of the click count in a confirmation. */
const recentDays = 30
/** The links of a day among which the last click is looked for, most clicked first. */
const maxClickedLinks = 500

/** Describes the domain's human clicks in the last 30 days. */
async function recentClicks(db: Db, account: number, id: number): Promise<Part> {
  const subject = { scope: 'domain', id } as const
  const calendar = calendarOf(await findTimeZones(db, account))
  const today = calendar.today()
  const range = { from: today - recentDays + 1, to: today }
  const { buckets, totals } = await seriesOf(db, account, subject, calendar, range, 'day')
  if (totals.clicks === 0) return `It had no clicks in the last ${recentDays} days.`
  const lastDay = range.from + buckets.findLastIndex(({ clicks }) => clicks > 0)
  const clicked = await rankingOf(db, account, subject, { from: lastDay, to: lastDay }, 'links')
  const top = await clicked.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: maxClickedLinks })
  const last = await lastClickOn(
    db,
    account,
    top.flatMap(({ value }) => (typeof value === 'number' ? value : [])),
  )
  const when = last === null ? null : html`, the last ${timeAgo(last, Date.now())}`
  return html`It had ${quantity(totals.clicks, 'click')} in the last ${recentDays} days${when}.`
}

/** Returns whether people mean the domain with this text. */
function isNameOf({ name, name_unicode }: Domain, text: string): boolean {
  // The name may be invalid under the current rules.
  if (text === name || text === name_unicode) return true
  const parsed = parseHostName(text)
  return !(parsed instanceof Refusal) && parsed.name === name
}

/** Returns the host of a pasted URL, and any other value unchanged. A URL with a port or a user name is unchanged, too. */
function hostOfUrl(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return /^\s*https?:\/\/([^/?#:@\\\s]+)(?:[/?#]\S*)?\s*$/i.exec(text)?.[1] ?? text
}

function newDomainFields(state: FormState): Html {
  const name = textField(state, {
    name: 'name',
    label: domainLabels.name,
    help: 'For example, go.example.com. To try Waymark on this machine, use localhost.',
    isRequired: true,
    isCode: true,
    hasFocus: state.violations.length === 0,
  })
  return html`${name}${urlFields(state)}`
}

function urlFields(state: FormState): Html {
  return html`${textField(state, {
    name: 'homepage_url',
    label: domainLabels.homepage_url,
    type: 'url',
    help: 'Where visitors go when they open the domain without an alias.',
  })}${textField(state, {
    name: 'not_found_url',
    label: domainLabels.not_found_url,
    type: 'url',
    help: 'Where visitors go when a link doesn’t exist. Leave it empty to show a plain “Link not found” page.',
  })}`
}

interface DnsQuery {
  readonly domain: Domain
  readonly publicHost: string | null
  readonly checks: DomainChecks
  readonly isCheckRequested: boolean
}

const verdicts: Readonly<Record<Reachability['answer'], string>> = {
  here: 'This domain reaches this server, so its short links work.',
  elsewhere:
    'This domain points to another server, or to a proxy that doesn’t forward requests to this one. If you just changed the DNS records, wait until the old ones expire.',
  'no answer': 'This domain has an IP address, but nothing responds there. Check that this server’s ports are open.',
  'certificate error':
    'This domain responds, but its TLS certificate isn’t valid. Install a certificate for this name.',
  'no DNS':
    'This domain doesn’t resolve yet. Add the DNS records, then check again. New records can take up to an hour to take effect.',
}

export async function dnsSection(request: DnsQuery): Promise<Html> {
  const { domain, checks, isCheckRequested } = request
  const { id, name } = domain
  const checked = isCheckRequested ? await checks.check(name) : null
  const verdict =
    checked === null
      ? null
      : html`<p class="reach ${checked.answer === 'here' ? 'success' : 'warning'}" role="status">${verdicts[checked.answer]}</p>`
  const advice = isLoopbackName(name)
    ? html`<p>Every machine uses this name for itself. It needs no DNS records, and its short links work only on this machine.</p>`
    : dnsAdvice(domain, await recordsToSet(request, checked))
  return html`<section id="dns"><h2>DNS</h2>${verdict}${advice}
<div class="actions">${linkButton({ label: checked === null ? 'Check domain' : 'Check again', href: `${home}/${id}?check=now` })}</div></section>`
}

function dnsAdvice({ name, name_unicode }: Domain, records: readonly DnsRecord[]): Html {
  const where = html`At the DNS provider for <bdi>${name_unicode}</bdi>`
  if (records.length > 0)
    return html`<p>${where}, add ${records.length === 1 ? 'this record' : 'these records'}:</p>${dnsRecords(records)}`
  return html`<p>${where}, add an A record for <code>${name}</code> with this server’s public IPv4 address. If the server also has a public IPv6 address, add an AAAA record with it.</p>`
}

/** Returns the records to set. Queries the DNS only for a requested check, because a slow resolver must not delay the page. */
async function recordsToSet(request: DnsQuery, checked: Reachability | null): Promise<readonly DnsRecord[]> {
  const { domain, publicHost, checks, isCheckRequested } = request
  const plain = recordsFor(domain.name, publicHost, [])
  if (plain.length > 0) return plain
  const host = publicHost ?? ''
  const ofHost = isCheckRequested ? await checks.addressesOf(host) : checks.cachedAddressesOf(host)
  const own = checked?.answer === 'here' ? addressesIn(checked.records) : []
  return recordsFor(domain.name, publicHost, [...ofHost, ...own])
}

/** RFC 6761 §6.3. */
function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function dnsRecords(records: readonly DnsRecord[]): Html {
  return table({
    caption: 'DNS records',
    rows: records,
    columns: [
      { label: 'Type', cell: ({ type }) => type },
      { label: 'Name', cell: ({ name }) => copyable(name, 'the name') },
      { label: 'Value', cell: ({ value }) => copyable(value, 'the value') },
    ],
  })
}

function copyable(text: string, what: string): Html {
  return html`<span class="short"><code>${text}</code>${copyButton(text, what)}</span>`
}
