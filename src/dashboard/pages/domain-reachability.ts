/** Whether visitors of a domain reach this server: its state, its last check, and the DNS records to set. */

import type { Domain } from '../../domains/schema.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { type DomainChecks, isLocalName } from '../../reachability/checks.ts'
import { type DnsRecord, isPublicName, recordsToSet } from '../../reachability/dns.ts'
import type { DomainCheck } from '../../reachability/store.ts'
import { actionRow, controlFor, copyButton, postButton, type Viewer } from '../parts/buttons.ts'
import { listed, timeAgo } from '../parts/format.ts'
import { table } from '../parts/table.ts'

type NamedDomain = Pick<Domain, 'id' | 'name' | 'name_unicode'>

interface Reachability {
  readonly domain: NamedDomain
  /** The last check; undefined before the first. */
  readonly check: DomainCheck | undefined
  /** The dashboard's host. */
  readonly publicHost: string | null
  readonly checks: Pick<DomainChecks, 'cachedAddresses' | 'publicAddresses'>
  /** The account's domain that was last seen to reach this server. */
  readonly reached: { readonly name_unicode: string; readonly addresses: readonly string[] } | undefined
  readonly hasClicks: boolean
  readonly viewer: Viewer
}

export function reachabilityBadge(name: string, check: DomainCheck | undefined): Html {
  const isHere = check?.answer === 'here'
  if (isLocalName(name) && (check === undefined || isHere)) return html`<span class="muted">This machine only</span>`
  if (check === undefined || check.answer === 'private address') return html`<span class="muted">Not checked</span>`
  if (isHere) return html`<span class="state reachable">${icon('done')}Reachable</span>`
  return html`<span class="state expired">${icon('warning')}Not reachable</span>`
}

const problems: Readonly<Record<Exclude<DomainCheck['answer'], 'here'>, string>> = {
  elsewhere:
    'This domain points to another server, or to a proxy that doesn’t forward requests to this one. If you just changed the DNS records, wait until the old ones expire.',
  'no answer': 'This domain has an IP address, but nothing responds there. Check that this server’s ports are open.',
  'certificate error':
    'This domain responds, but its TLS certificate isn’t valid. Install a certificate for this name. If it’s from a private authority, set NODE_EXTRA_CA_CERTS on the server.',
  'private address':
    'This domain has a private address. Waymark checks such domains only for the first account of the server.',
  'no DNS':
    'This domain doesn’t resolve yet. Add the DNS records, then check again. New records can take up to an hour to take effect.',
}

/** Renders the last check and the DNS records, in one line unless they are the next step. */
export function reachabilitySection(of: Reachability): Html {
  const { domain, check } = of
  const sentence = settledState(of)
  if (sentence === null) return html`<section id="dns"><h2>DNS</h2>${problem(check)}${instructions(of)}</section>`
  const isReached = check?.answer === 'here' && !isLocalName(domain.name)
  const [kind, sign] = isReached ? (['success', 'done'] as const) : (['neutral', 'about'] as const)
  return html`<details class="reach ${kind}" id="dns"><summary>${icon(sign)}<span>${sentence}${checkedAt(check)}</span>${icon('chevron', 'chevron')}</summary>
<div class="stack">${instructions(of)}</div></details>`
}

/** Returns a sentence, or null if the DNS records are the next step. */
function settledState({ domain, check, hasClicks }: Reachability): Html | null {
  const name = html`<bdi>${domain.name_unicode}</bdi>`
  const isHere = check?.answer === 'here'
  if (isLocalName(domain.name) && (check === undefined || isHere))
    return html`Only this machine reaches ${name}, because every machine uses this name for itself.`
  if (isHere) return html`Visitors reach this server at ${name}.`
  if (check !== undefined || !hasClicks) return null
  return html`Waymark hasn’t checked yet whether visitors reach this server at ${name}.`
}

function checkedAt(check: DomainCheck | undefined): Part {
  return check === undefined ? null : html` Checked ${timeAgo(check.checked_at, Date.now())}.`
}

function problem(check: DomainCheck | undefined): Html | null {
  if (check === undefined || check.answer === 'here') return null
  const { answer, addresses } = check
  const found =
    addresses.length === 0
      ? null
      : html` The DNS returned ${listed(addresses.map((address) => html`<code>${address}</code>`))}.`
  return html`<p class="reach ${answer === 'private address' ? 'neutral' : 'warning'}">${problems[answer]}${found}${checkedAt(check)}</p>`
}

function instructions(of: Reachability): Html {
  const { domain, viewer } = of
  const label = of.check === undefined ? 'Check domain' : 'Check again'
  const check = actionRow([postButton({ label, action: `/app/domains/${domain.id}/check` })])
  return html`${dnsAdviceFor(of)}${controlFor(viewer, 'domains:write', check)}`
}

/** Facts that decide which DNS records to set. */
type DnsFacts = Pick<Reachability, 'domain' | 'check' | 'publicHost' | 'checks' | 'reached'>

/** Renders the DNS records to set for a domain, or how to find them. */
export function dnsAdviceFor({ domain, check, publicHost, checks, reached }: DnsFacts): Html {
  if (isLocalName(domain.name)) return html`<p>This name needs no DNS records.</p>`
  const isPublic = publicHost !== null && isPublicName(publicHost)
  const { records, source } = recordsToSet(domain.name, publicHost, {
    host: isPublic ? checks.cachedAddresses(publicHost) : [],
    domain: check?.answer === 'here' ? check.addresses : [],
    reached: reached?.addresses ?? [],
    machine: checks.publicAddresses(),
  })
  const addresses = reached?.addresses.length === 1 ? 'this IP address' : 'these IP addresses'
  const hint = html` To see the records here, set <code>BASE_URL</code> to a public URL of this server.`
  const notes = {
    host: null,
    domain: null,
    reached: html`<bdi>${reached?.name_unicode ?? ''}</bdi> reaches this server at ${addresses}.`,
    machine:
      'This machine has this IP address. If visitors come through a proxy or load balancer, use its IP address instead.',
    unknown: html`Your hosting provider shows the address. Waymark doesn’t know it, because it doesn’t contact other services.${isPublic ? null : hint}`,
  }
  return dnsAdvice(domain, records, notes[source ?? 'unknown'])
}

function dnsAdvice({ name, name_unicode }: NamedDomain, records: readonly DnsRecord[], source: Part): Html {
  const where = html`At the DNS provider for <bdi>${name_unicode}</bdi>`
  const note = source === null ? null : html`<p class="muted">${source}</p>`
  if (records.length > 0)
    return html`<p>${where}, add ${records.length === 1 ? 'this record' : 'these records'}:</p>${dnsRecords(records)}${note}`
  return html`<p>${where}, add an A record for ${hostName(name)} with this server’s public IPv4 address. If the server also has a public IPv6 address, add an AAAA record with it.</p>${note}`
}

function dnsRecords(records: readonly DnsRecord[]): Html {
  return table({
    caption: 'DNS records',
    rows: records,
    columns: [
      { label: 'Type', cell: ({ type }) => type },
      { label: 'Name', cell: ({ name }) => copyableHostName(name, 'the name') },
      { label: 'Value', cell: ({ value }) => copyableHostName(value, 'the value') },
    ],
  })
}

/** Renders a name or an address with a button that copies it. */
export function copyableHostName(text: string, what: string): Html {
  return html`<span class="short">${hostName(text)}${copyButton(text, what)}</span>`
}

/** Renders a name that breaks after dots, because browsers would otherwise break it at hyphens. */
function hostName(name: string): Html {
  const labels = name.split(/(?<=\.)/)
  return html`<code class="host-name">${labels.map((label) => html`<span>${label}</span>`)}</code>`
}
