import { isIP, isIPv6 } from 'node:net'

/**
 * The network that a client address belongs to: the address itself for IPv4 (also when mapped into IPv6), the /64 for
 * IPv6, since a client that has one address there has 2^64 of them (RFC 6177 §2). Anything else counts as `unknown`.
 */
export function networkOf(forwarded: string): string {
  const address = addressIn(forwarded)
  if (!isIPv6(address)) return isIP(address) === 4 ? address : 'unknown'
  return `${expanded(address).slice(0, 4).join(':')}::/64`
}

/** A client's address, as a proxy may have forwarded it, without a port, and as IPv4 where it is mapped into IPv6. */
export function addressIn(forwarded: string): string {
  const address = withoutPort(forwarded)
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Some proxies forward the client's port as well; without it, they count as what they are. */
function withoutPort(forwarded: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(forwarded)?.[1] ?? /^([\d.]+):\d+$/.exec(forwarded)?.[1] ?? forwarded
}

/** The eight groups of an IPv6 address, without leading zeros. */
function expanded(address: string): string[] {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const before = groups(head)
  if (tail === undefined) return before
  const after = groups(tail)
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
}

function groups(text: string): string[] {
  if (text === '') return []
  return text.split(':').map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}
