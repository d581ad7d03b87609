import { Resolver } from 'node:dns/promises'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { isApex } from '../names/top-level.ts'

/** The value of a CNAME is a name without a trailing dot. */
export interface DnsRecord {
  readonly type: 'A' | 'AAAA' | 'CNAME'
  readonly name: string
  readonly value: string
}

/** DNS records of a name. `no answer`: the DNS is silent or failed. */
export type FoundRecords = readonly DnsRecord[] | 'no records' | 'no answer'

export interface DnsOptions {
  /** For the whole lookup. */
  readonly timeoutMs: number
  /** DNS servers as `address` or `address:port`; null for the default servers of the machine. */
  readonly servers: readonly string[] | null
}

/** Limits the records of one type, because a name may have thousands. */
const maxPerType = 8

const missingCodes = ['ENODATA', 'ENOTFOUND']

/** Looks up the CNAME and the addresses of a name in ASCII. Never rejects. */
export async function findRecords(name: string, { timeoutMs, servers }: DnsOptions): Promise<FoundRecords> {
  // Two tries, because a packet may get lost.
  const resolver = new Resolver({ timeout: timeoutMs / 2, tries: 2 })
  if (servers !== null) resolver.setServers(servers)
  const deadline = setTimeout(() => resolver.cancel(), timeoutMs)
  const found = await Promise.all([
    resolveRecords('CNAME', name, resolver.resolveCname(name)),
    resolveRecords('A', name, resolver.resolve4(name)),
    resolveRecords('AAAA', name, resolver.resolve6(name)),
  ])
  clearTimeout(deadline)
  const records = found.flatMap((some) => (some === 'no answer' ? [] : some))
  if (records.length > 0) return records
  return found.includes('no answer') ? 'no answer' : 'no records'
}

async function resolveRecords(
  type: DnsRecord['type'],
  name: string,
  values: Promise<string[]>,
): Promise<readonly DnsRecord[] | 'no answer'> {
  try {
    return (await values).slice(0, maxPerType).map((value) => ({ type, name, value }))
  } catch (error) {
    return missingCodes.includes((error as NodeJS.ErrnoException).code ?? '') ? [] : 'no answer'
  }
}

/** Returns the records to create for a domain: a CNAME to the public host if the DNS allows it, or its IP addresses. */
export function recordsFor(name: string, publicHost: string | null, addresses: readonly string[]): DnsRecord[] {
  // The URL Standard requires brackets around IPv6 addresses.
  const host = (publicHost ?? '').replace(/^\[(.*)\]$/, '$1')
  if (isPublicName(host) && host !== name && !isApex(name)) return [{ type: 'CNAME', name, value: host }]
  const known = [...new Set([host, ...addresses])].filter(isPublicAddress)
  return known.map((value) => ({ type: isIPv6(value) ? 'AAAA' : 'A', name, value }))
}

/** Whose addresses are known: of the dashboard's host, this domain, another domain that reaches this server, or this machine. */
const knownBy = ['host', 'domain', 'reached', 'machine'] as const
type KnownAddresses = Readonly<Record<(typeof knownBy)[number], readonly string[]>>

/** Returns the records to create for a domain by the best addresses that are known; `source` is null if none are. */
export function recordsToSet(
  name: string,
  publicHost: string | null,
  known: KnownAddresses,
): { readonly records: readonly DnsRecord[]; readonly source: keyof KnownAddresses | null } {
  for (const source of knownBy) {
    const records = recordsFor(name, publicHost, known[source])
    if (records.length > 0) return { records, source }
  }
  return { records: [], source: null }
}

/** Returns false for IP addresses and for names that only have a meaning on this machine or network. */
export function isPublicName(host: string): boolean {
  return isIP(host) === 0 && host.includes('.') && !/\.(?:localhost|local)$/.test(host)
}

export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && !notPublic.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/**
 * Loopback, link-local and private addresses: of RFC 1122, 1918, 3927, 4193, 4291 (also IPv4 in `::/96`) and 6598; and those
 * for special purposes (RFC 6890), multicast, and IPv6 addresses that contain an IPv4 address.
 */
const notPublic = new BlockList()
notPublic.addSubnet('0.0.0.0', 8)
notPublic.addSubnet('10.0.0.0', 8)
notPublic.addSubnet('100.64.0.0', 10)
notPublic.addSubnet('127.0.0.0', 8)
notPublic.addSubnet('169.254.0.0', 16)
notPublic.addSubnet('172.16.0.0', 12)
notPublic.addSubnet('192.168.0.0', 16)
notPublic.addSubnet('192.0.0.0', 24)
notPublic.addSubnet('198.18.0.0', 15)
notPublic.addSubnet('224.0.0.0', 3)
notPublic.addSubnet('::', 96, 'ipv6')
notPublic.addSubnet('64:ff9b::', 96, 'ipv6')
notPublic.addSubnet('2001::', 32, 'ipv6')
notPublic.addSubnet('2002::', 16, 'ipv6')
notPublic.addSubnet('fec0::', 10, 'ipv6')
notPublic.addSubnet('ff00::', 8, 'ipv6')
notPublic.addSubnet('fc00::', 7, 'ipv6')
notPublic.addSubnet('fe80::', 10, 'ipv6')
