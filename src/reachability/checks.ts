import { BoundedMap } from '../bounded-map.ts'
import { overloaded } from '../errors.ts'
import { fingerprintOf, fingerprintPath } from '../fingerprint.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import { type DnsOptions, type FoundRecords, findRecords } from './dns.ts'
import { type Answer, type ProbeOptions, probe } from './probe.ts'

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
  /** How many checks may be under way. */
  readonly atOnce?: number
  /** Milliseconds on a clock that is never set. */
  readonly now?: () => number
}

interface Check {
  readonly since: number
  readonly result: Promise<Reachability>
}

const usualDns: DnsOptions = { timeoutMs: 2_000, servers: null }
const usualProbe: ProbeOptions = { timeoutMs: 3_000, httpsPort: 443 }
const usuallyAtOnce = 16
/** For this long, a check of a name is not made again. Milliseconds. */
const keptForMs = 5_000
const maxKept = 1_000

/** The checks of this process whether domains lead to this instance; one for all who ask. */
export class DomainChecks {
  readonly #options: CheckOptions
  readonly #atOnce: number
  readonly #now: () => number
  readonly #checks = new BoundedMap<string, Check>(maxKept)
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

  async #look(name: string, fingerprint: string): Promise<Reachability> {
    const { shortUrl, dns = usualDns, probe: how = usualProbe } = this.#options
    this.#underWay += 1
    const url = shortUrl(name, fingerprintPath)
    const [records, answer] = await Promise.all([findRecords(name, dns), probe(url, fingerprint, how)])
    this.#underWay -= 1
    return { records, answer: answer === 'no answer' && hasNoAddress(records) ? 'no DNS' : answer }
  }
}

function hasNoAddress(records: FoundRecords): boolean {
  return records !== 'no answer' && (records === 'no records' || records.every(({ type }) => type === 'CNAME'))
}
