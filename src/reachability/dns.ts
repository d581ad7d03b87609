import { Resolver } from 'node:dns/promises'

/** A record of the DNS. The value of a CNAME is a name without a dot at its end. */
export interface DnsRecord {
  readonly type: 'A' | 'AAAA' | 'CNAME'
  readonly name: string
  readonly value: string
}

/** What the DNS has of a name. `no answer`: the DNS did not answer, or could not. */
export type FoundRecords = readonly DnsRecord[] | 'no records' | 'no answer'

export interface DnsOptions {
  /** Milliseconds after which the DNS is not waited for any longer. */
  readonly timeoutMs: number
  /** The servers to ask, as `address` or `address:port`; null for those of the machine. */
  readonly servers: readonly string[] | null
}

/** More of one type than any page shows: the owner of a name may give it thousands. */
const mostOfType = 8

/** The codes that say that there is no record of the type, or not even the name. */
const none = ['ENODATA', 'ENOTFOUND']

/** Asks the DNS for the CNAME and the addresses of a name in ASCII. Never rejects. */
export async function findRecords(name: string, { timeoutMs, servers }: DnsOptions): Promise<FoundRecords> {
  // One packet may get lost.
  const resolver = new Resolver({ timeout: timeoutMs / 2, tries: 2 })
  if (servers !== null) resolver.setServers(servers)
  const deadline = setTimeout(() => resolver.cancel(), timeoutMs)
  const found = await Promise.all([
    recordsOf('CNAME', name, resolver.resolveCname(name)),
    recordsOf('A', name, resolver.resolve4(name)),
    recordsOf('AAAA', name, resolver.resolve6(name)),
  ])
  clearTimeout(deadline)
  const records = found.flatMap((of) => (of === 'no answer' ? [] : of))
  if (records.length > 0) return records
  return found.includes('no answer') ? 'no answer' : 'no records'
}

async function recordsOf(
  type: DnsRecord['type'],
  name: string,
  values: Promise<string[]>,
): Promise<readonly DnsRecord[] | 'no answer'> {
  try {
    return (await values).slice(0, mostOfType).map((value) => ({ type, name, value }))
  } catch (error) {
    return none.includes((error as NodeJS.ErrnoException).code ?? '') ? [] : 'no answer'
  }
}
