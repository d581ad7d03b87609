import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { overloaded } from '../errors.ts'
import { fingerprintOf, fingerprintPath } from '../instance/fingerprint.ts'
import { LruCache } from '../lib/lru-cache.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import { type DnsOptions, type FoundRecords, findRecords } from './dns.ts'
import { type Answer, type ProbeOptions, probe } from './probe.ts'
import { isPublicName } from './records.ts'

/** What is known of where a domain leads. */
export interface Reachability {
  readonly records: FoundRecords
  /** `no DNS`: nothing answers, and the DNS has no address of the name. */
  readonly answer: Answer | 'no DNS'
}

export interface CheckOptions {
  /** Tells which instance this is. */
  readonly storage: Pick<Storage, 'changesAfter'>
  readonly shortUrl: ShortUrl
  readonly dns?: DnsOptions
  readonly probe?: ProbeOptions
  /** How many checks, and lookups of addresses, may be under way. */
  readonly atOnce?: number
  /** Milliseconds on a clock that is never set. */
  readonly now?: () => number
}

/** What each machine knows without the DNS (RFC 6761 §6.3). */
const ownName = /(?:^|\.)localhost$/

interface Check {
  readonly since: number
  readonly result: Promise<Reachability>
}

interface Lookup {
  readonly since: number
  readonly addresses: Promise<readonly string[]>
  /** What it has found; until then, what the one before has. */
  found: readonly string[]
}

const usualDns: DnsOptions = { timeoutMs: 2_000, servers: null }
const usualProbe: ProbeOptions = { timeoutMs: 3_000, httpsPort: 443 }
const usuallyAtOnce = 8
/** For this long, a check of a name is not made again. Milliseconds. */
const keptForMs = 5_000
const maxKept = 1_000
/** For this long, the addresses of a host are not looked up again. Milliseconds. */
const addressesKeptForMs = 60_000
const maxHosts = 100

/** The checks of this process whether domains lead to this instance; one for all who ask. */
export class DomainChecks {
  readonly #options: CheckOptions
  readonly #atOnce: number
  readonly #now: () => number
  readonly #checks = new LruCache<string, Check>({ maxEntries: maxKept })
  readonly #lookups = new LruCache<string, Lookup>({ maxEntries: maxHosts })
  /** Checks, and the lookups of addresses that have outlived theirs. */
  #underWay = 0

  constructor(options: CheckOptions) {
    this.#options = options
    this.#atOnce = options.atOnce ?? usuallyAtOnce
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Looks a domain up in the DNS, and sends a request to its short URL for the fingerprint of this instance. Only for the
   * name of a stored domain of the account that asks: the caller sees to that, or an account could have any host tried.
   * Within five seconds of a check, its result is told again. Rejects with `overloaded` and `database_unavailable`.
   */
  async check(name: string): Promise<Reachability> {
    const { position } = await this.#options.storage.changesAfter(null)
    const last = this.#checks.get(name)
    if (last !== undefined && this.#now() - last.since < keptForMs) return last.result
    if (this.#underWay >= this.#atOnce) throw overloaded('Too many domains are being checked. Try again shortly.')
    const result = this.#look(name, fingerprintOf(position.database))
    this.#checks.set(name, { since: this.#now(), result })
    return result
  }

  /** The addresses that the DNS has of a public host name; none for any other, or while too much is being looked up. Never rejects. */
  async addressesOf(host: string): Promise<readonly string[]> {
    const last = this.#lookups.get(host)
    if (last !== undefined && this.#now() - last.since < addressesKeptForMs) return last.addresses
    if (!isPublicName(host) || this.#underWay >= this.#atOnce) return []
    const addresses = this.#addresses(host)
    const lookup: Lookup = { since: this.#now(), addresses, found: last?.found ?? [] }
    this.#lookups.set(host, lookup)
    lookup.found = await addresses
    return addresses
  }

  /** What is known without waiting, with the rules of `addressesOf`: a lookup that is due goes on by itself, for those who ask later. */
  knownAddressesOf(host: string): readonly string[] {
    void this.addressesOf(host)
    return this.#lookups.get(host)?.found ?? []
  }

  async #addresses(host: string): Promise<readonly string[]> {
    this.#underWay += 1
    try {
      return addressesIn(await findRecords(host, this.#options.dns ?? usualDns))
    } catch {
      // Perhaps no one waits for it, and advice without addresses is still advice.
      return []
    } finally {
      this.#underWay -= 1
    }
  }

  async #look(name: string, fingerprint: string): Promise<Reachability> {
    const { shortUrl, dns = usualDns, probe: how = usualProbe } = this.#options
    this.#underWay += 1
    try {
      const records = await findRecords(name, dns)
      const url = shortUrl(name, fingerprintPath)
      // The system would ask a silent DNS for many seconds, in one of the few threads that the whole process has for that.
      const isSilent = records === 'no answer' && !ownName.test(name)
      const answer = isSilent ? 'no answer' : await probe(url, fingerprint, this.#counted(how, familyOf(records)))
      return { records, answer: answer === 'no answer' && hasNoAddress(records) ? 'no DNS' : answer }
    } finally {
      this.#underWay -= 1
    }
  }

  /** The probe with lookups that count as under way until they end: the system goes on with them after we have stopped waiting. */
  #counted(how: ProbeOptions, family: 0 | 4 | 6): ProbeOptions {
    const find = how.lookup ?? (lookup as LookupFunction)
    const counted: LookupFunction = (host, options, callback) => {
      this.#underWay += 1
      find(host, { ...options, family }, (...found) => {
        this.#underWay -= 1
        callback(...found)
      })
    }
    return { ...how, lookup: counted }
  }
}

/** The family of addresses that the DNS has; 0 for any. It may be silent when it is asked for the other one. */
function familyOf(records: FoundRecords): 0 | 4 | 6 {
  const has = (wanted: string) =>
    records !== 'no answer' && records !== 'no records' && records.some(({ type }) => type === wanted)
  if (has('A') === has('AAAA')) return 0
  return has('A') ? 4 : 6
}

/** The addresses among the records. */
export function addressesIn(records: FoundRecords): string[] {
  if (records === 'no answer' || records === 'no records') return []
  return records.flatMap(({ type, value }) => (type === 'CNAME' ? [] : [value]))
}

function hasNoAddress(records: FoundRecords): boolean {
  return records !== 'no answer' && (records === 'no records' || records.every(({ type }) => type === 'CNAME'))
}
