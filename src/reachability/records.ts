/** The DNS records that lead a domain to this server. Pure. */
import { BlockList, isIP, isIPv6 } from 'node:net'
import { isApex } from '../names/host-name.ts'
import type { DnsRecord } from './dns.ts'

/**
 * The records to set for a domain, whose name is in ASCII: a CNAME to the public name of the server, where the DNS allows
 * one and the name is known; else its addresses; none where no public one is known. `publicHost` is the host by which
 * the server is reached, as in a URL and without a port, which may be local or an IP address; null if none is known.
 */
export function recordsFor(name: string, publicHost: string | null, addresses: readonly string[]): DnsRecord[] {
  const host = withoutBrackets(publicHost ?? '')
  if (isPublicName(host) && host !== name && !isApex(name)) return [{ type: 'CNAME', name, value: host }]
  const known = [...new Set([host, ...addresses])].filter(isPublicAddress)
  return known.map((value) => ({ type: isIPv6(value) ? 'AAAA' : 'A', name, value }))
}

/** As the URL Standard writes an IPv6 address. */
function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** A name without a dot, or one below `localhost` or `local`, means something on this network alone, or on this machine. */
export function isPublicName(host: string): boolean {
  return isIP(host) === 0 && host.includes('.') && !/\.(?:localhost|local)$/.test(host)
}

function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && !notPublic.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/** Loopback, link-local and private addresses: of RFC 1122, 1918, 3927, 4193, 4291 and 6598. */
const notPublic = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  notPublic.addSubnet(network, prefix)
for (const [network, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  notPublic.addSubnet(network, prefix, 'ipv6')
