/** Whether a domain leads here, and the records that make it. */
import type { Domain } from '../../domains/schema.ts'
import { type Html, html } from '../../http/html.ts'
import { addressesIn, type DomainChecks, type Reachability } from '../../reachability/checks.ts'
import type { DnsRecord } from '../../reachability/dns.ts'
import { recordsFor } from '../../reachability/records.ts'
import { linkButton } from '../parts/buttons.ts'
import { dnsRecords } from '../parts/records.ts'

const home = '/app/domains'

interface DnsAsked {
  readonly domain: Domain
  /** The host by which the dashboard is reached; null if none is known. */
  readonly publicHost: string | null
  readonly checks: DomainChecks
  /** Whether to check now. */
  readonly isAsked: boolean
}

const answers: Readonly<Record<Reachability['answer'], string>> = {
  here: 'It answers here: short links on it work.',
  elsewhere:
    'Something else answers: another server, or a proxy that does not reach this one. If you have just changed the records, wait until the old ones expire.',
  'no answer': 'The name has an address, but nothing answers there. Check that the ports of this server are open.',
  'certificate error': 'It answers, but its certificate is not valid for this name. Get one that is.',
  'no DNS':
    'The name has no address yet. Set what stands below, then check again: a new record can take an hour to reach everyone.',
}

/** The DNS records to set, and what a check has found. */
export async function dnsPart(asked: DnsAsked): Promise<Html> {
  const { domain, checks, isAsked } = asked
  const { id, name } = domain
  const checked = isAsked ? await checks.check(name) : null
  const verdict =
    checked === null
      ? null
      : html`<p class="reach ${checked.answer === 'here' ? 'success' : 'warning'}" role="status">${answers[checked.answer]}</p>`
  const advice = isOwnMachine(name)
    ? html`<p>Every machine uses this name for itself: there is nothing to set, and short links on it work on this machine only.</p>`
    : adviceFor(domain, await recordsOf(asked, checked))
  return html`<section id="dns"><h2>DNS</h2>${verdict}${advice}
<div class="actions">${linkButton({ label: checked === null ? 'Check that it works' : 'Check again', href: `${home}/${id}?check=now` })}</div></section>`
}

function adviceFor({ name, name_unicode }: Domain, records: readonly DnsRecord[]): Html {
  const where = html`Where you manage the DNS of <bdi>${name_unicode}</bdi>`
  if (records.length > 0)
    return html`<p>${where}, set ${records.length === 1 ? 'this record' : 'these records'}:</p>${dnsRecords(records)}`
  return html`<p>${where}, set an A record for <code>${name}</code> with the public IPv4 address of this server. If it has a public IPv6 address as well, set an AAAA record with that.</p>`
}

/**
 * A CNAME needs no address; else they are those of the public host, and of the name itself if it was just found to lead here. The
 * DNS is waited for only when a check was asked for: it may be silent, and the page is there for more.
 */
async function recordsOf(asked: DnsAsked, checked: Reachability | null): Promise<readonly DnsRecord[]> {
  const { domain, publicHost, checks, isAsked } = asked
  const plain = recordsFor(domain.name, publicHost, [])
  if (plain.length > 0) return plain
  const host = publicHost ?? ''
  const ofHost = isAsked ? await checks.addressesOf(host) : checks.knownAddressesOf(host)
  const own = checked?.answer === 'here' ? addressesIn(checked.records) : []
  return recordsFor(domain.name, publicHost, [...ofHost, ...own])
}

/** RFC 6761 §6.3. */
function isOwnMachine(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}
