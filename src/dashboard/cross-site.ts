import { Failure } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'

/**
 * Turns away a request that changes something and that another site may have made the browser send: it must say
 * `Sec-Fetch-Site: same-origin` (Fetch Metadata), or, where that header is absent, name this host in `Origin`. `address` is
 * the public address of the dashboard, which may be another than the host that a proxy asks for.
 */
export function crossSiteFault({ headers, host }: Exchange, address: string): Failure | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return undefined
  if (site === undefined && isOwn(headers.origin, [host, URL.parse(address)?.host ?? ''])) return undefined
  return new Failure(
    'cross_site',
    'This request did not come from a page of this dashboard. Open the page, and try again there.',
  )
}

function isOwn(origin: string | undefined, hosts: readonly string[]): boolean {
  const url = URL.parse(origin ?? '')
  return url !== null && /^https?:$/.test(url.protocol) && hosts.some((host) => hostOf(url.protocol, host) === url.host)
}

/** The host without the scheme's own port, as `URL` writes it. */
function hostOf(protocol: string, host: string): string | undefined {
  return URL.parse(`${protocol}//${host}`)?.host
}
