import { isIP, isIPv6 } from 'node:net'

/** Returns an IPv4 address, the /64 of an IPv6 address (RFC 6177 §2), or `unknown`. */
export function toNetwork(forwarded: string): string {
  const address = addressIn(forwarded)
  if (!isIPv6(address)) return isIP(address) === 4 ? address : 'unknown'
  return `${expanded(address).slice(0, 4).join(':')}::/64`
}

/** Returns a forwarded client address without its port, and an IPv4 address that is mapped into IPv6 as IPv4. */
export function addressIn(forwarded: string): string {
  const address = withoutPort(forwarded)
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Some proxies forward the client's port too. */
function withoutPort(forwarded: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(forwarded)?.[1] ?? /^([\d.]+):\d+$/.exec(forwarded)?.[1] ?? forwarded
}

/** Returns the eight groups of an IPv6 address, without leading zeros. */
function expanded(address: string): string[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*/, '')}]`)
  const [before = [], after] = hostname
    .slice(1, -1)
    .split('::')
    .map((groups) => groups.split(':').filter(Boolean))
  if (after === undefined) return before
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}
