/** Turns visits into clicks by hour. IP addresses are never read, user agents and referrers are not kept. */
import { isHost, parseReferrer } from '../analytics/capture/facts.ts'
import { countryCodes } from '../analytics/capture/names.ts'
import { detectSoftware } from '../analytics/capture/software.ts'
import { classifyAgent } from '../analytics/capture/visit.ts'
import type { LinkDimension } from '../analytics/day.ts'
import type { FileAddress, FileClicks } from './file-row.ts'
import { type GetValue, keyOf, type References } from './rows.ts'
import type { ClickNames } from './source-table.ts'
import { addressOf, type FileTimes, isSet, parseAddress, parseCount, textOf } from './values.ts'

type Fact = readonly [dimension: LinkDimension, value: string, count: number]
type Class = FileClicks['class']

/** Hours in memory, which take a few megabytes. */
const maxHours = 4_000

interface Hour extends FileClicks {
  count: number
  readonly facts: Partial<Record<LinkDimension, Record<string, number>>>
}

/** Adds up the clicks of hours. */
export class ClickHours {
  readonly #hours = new Map<string, Hour>()

  get isFull(): boolean {
    return this.#hours.size >= maxHours
  }

  /** `time` is RFC 3339 in UTC. */
  add(address: FileAddress, time: string, type: Class, count: number, facts: readonly Fact[]): void {
    const at = `${time.slice(0, 13)}:00:00.000Z`
    const key = `${at}${type}${address.host}/${address.path}`
    let hour = this.#hours.get(key)
    if (hour === undefined) {
      hour = { address, at, class: type, count: 0, facts: {} }
      this.#hours.set(key, hour)
    }
    hour.count += count
    for (const [dimension, value, each] of facts) {
      hour.facts[dimension] ??= Object.create(null) as Record<string, number>
      const counts = hour.facts[dimension]
      counts[value] = (counts[value] ?? 0) + each
    }
  }

  /** Returns the clicks, and forgets them. */
  take(): FileClicks[] {
    const taken = [...this.#hours.values()]
    this.#hours.clear()
    return taken
  }
}

const countries = new Set(countryCodes)

/** Reads visits, or hours with visits. Throws `validation_failed` if a time needs a zone. */
export class ClickReader {
  readonly #names: ClickNames
  readonly #times: FileTimes
  readonly #references: References
  readonly #get: GetValue

  constructor(names: ClickNames, get: GetValue, times: FileTimes, references: References) {
    this.#names = names
    this.#get = get
    this.#times = times
    this.#references = references
  }

  /** Returns the address of a visit; null if only the page knows it, whose record this method takes, too. */
  addressOf(record: unknown): FileAddress | null {
    const { address, alias, key: names = [] } = this.#names
    const visited = parseAddress(this.#text(address, record))
    if (visited !== null) return visited
    const own = this.#text(alias, record)
    if (own !== '') return addressOf('', own)
    const key = keyOf(this.#get, record, names)
    if (key.trim() === '') return null
    const [host = '', path] = key.split('\n')
    // The root is never a link, so these clicks have no row.
    return this.#references.addresses.get(key) ?? (path === undefined ? addressOf('', '') : addressOf(host, path))
  }

  /** Adds the clicks of a record. Those without a valid time are left out. */
  read(record: unknown, address: FileAddress, hours: ClickHours): void {
    const time = this.#times.parse(this.#value(this.#names.time, record))
    if (typeof time !== 'string') return
    const { bot, total } = this.#names
    if (total === undefined) this.#readVisit(record, address, time, bot, hours)
    else this.#readHour(record, address, time, total, hours)
  }

  #readVisit(record: unknown, address: FileAddress, time: string, bot: string | undefined, hours: ClickHours): void {
    const userAgent = this.#text(this.#names.userAgent, record)
    const isBot = bot === undefined ? classifyAgent('GET', userAgent) !== 'person' : isSet(this.#value(bot, record))
    hours.add(address, time, isBot ? 'bot' : 'person', 1, isBot ? [] : this.#factsOf(record, address, userAgent))
  }

  #factsOf(record: unknown, address: FileAddress, userAgent: string): Fact[] {
    const { browser, operating_system, device } = detectSoftware(userAgent)
    const country = this.#text(this.#names.country, record).toUpperCase()
    // It expects the bytes of a header.
    const referrer = Buffer.from(this.#text(this.#names.referrer, record)).toString('latin1')
    const values = [
      ['countries', countries.has(country) ? country : null],
      ['referrers', parseReferrer(referrer, address.host ?? '')],
      ['browsers', browser],
      ['operating_systems', operating_system],
      ['devices', device],
    ] as const
    return values.flatMap(([dimension, value]) => (value === null ? [] : [[dimension, value, 1] as const]))
  }

  #readHour(record: unknown, address: FileAddress, time: string, totalName: string, hours: ClickHours): void {
    const total = parseCount(this.#value(totalName, record)) ?? 0
    if (total === 0) return
    const { browsers = {}, operatingSystems = {} } = this.#names
    const country = (key: string) => (countries.has(key.toUpperCase()) ? key.toUpperCase() : '')
    const referrer = (key: string) => key.replaceAll('[dot]', '.').toLowerCase()
    const host = (key: string) => (key !== 'direct' && isHost(referrer(key)) ? referrer(key) : '')
    const columns = (named: Readonly<Record<string, string>>) =>
      Object.entries(named).map(([name, value]) => [value, this.#value(name, record)] as const)
    const members = (name: string | undefined, meaningOf: (key: string) => string) =>
      Object.entries(objectOf(this.#value(name, record))).map(([key, count]) => [meaningOf(key), count] as const)
    hours.add(address, time, 'person', total, [
      ...factsWithin(total, 'browsers', columns(browsers)),
      ...factsWithin(total, 'operating_systems', columns(operatingSystems)),
      ...factsWithin(total, 'countries', members(this.#names.countries, country)),
      ...factsWithin(total, 'referrers', members(this.#names.referrers, host)),
    ])
  }

  #value(name: string | undefined, record: unknown): unknown {
    return name === undefined ? undefined : this.#get(record, name)
  }

  #text(name: string | undefined, record: unknown): string {
    return textOf(this.#value(name, record)).trim()
  }
}

/** Returns the facts of a dimension; none if they exceed the total. An empty value is unknown. */
function factsWithin(total: number, dimension: LinkDimension, values: readonly (readonly [string, unknown])[]): Fact[] {
  const counts = values.map(([value, count]) => [dimension, value, parseCount(count) ?? 0] as const)
  if (counts.reduce((sum, [, , count]) => sum + count, 0) > total) return []
  return counts.filter(([, value, count]) => value !== '' && count > 0)
}

function objectOf(value: unknown): object {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}
