/** Turns visits into clicks by hour. IP addresses are never read, user agents and referrers are not kept. */
import { isHost, parseReferrer } from '../analytics/capture/facts.ts'
import { countryCodes } from '../analytics/capture/names.ts'
import { detectSoftware } from '../analytics/capture/software.ts'
import { classifyAgent } from '../analytics/capture/visit.ts'
import type { LinkDimension } from '../analytics/day.ts'
import type { ClickedLink, FileClicks, FileItem } from './file-row.ts'
import { type FileRecord, readValue } from './records.ts'
import { readKey } from './rows.ts'
import type { ClickNames } from './source-table.ts'
import { buildAddress, type FileTimes, isSet, parseAddress, parseCount, toText } from './values.ts'

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
  add(link: ClickedLink, time: string, type: Class, count: number, facts: readonly Fact[]): void {
    const at = `${time.slice(0, 13)}:00:00.000Z`
    const { address, reference } = link
    const key = JSON.stringify([at, type, reference, address.host, address.path])
    const hour = this.#hours.getOrInsertComputed(key, () => ({ ...link, at, class: type, count: 0, facts: {} }))
    hour.count += count
    for (const [dimension, value, each] of facts) {
      hour.facts[dimension] ??= Object.create(null) as Record<string, number>
      const counts = hour.facts[dimension]
      counts[value] = (counts[value] ?? 0) + each
    }
  }

  /** Removes and returns the clicks. */
  take(): FileClicks[] {
    const taken = [...this.#hours.values()]
    this.#hours.clear()
    return taken
  }

  *takeItems(): Generator<FileItem> {
    for (const clicks of this.take()) yield { clicks }
  }
}

const countries = new Set(countryCodes)

/** Clicks that belong to no link: the root never is one. */
export const unknownLink: ClickedLink = { address: buildAddress('', ''), reference: null }

/** Reads visits, or hours with visits. Throws `validation_failed` if a time needs a zone. */
export class ClickReader {
  readonly #names: ClickNames
  readonly #times: FileTimes

  constructor(names: ClickNames, times: FileTimes) {
    this.#names = names
    this.#times = times
  }

  /** Returns the link of a visit, or of the visits in a page; null if only its page names the link. */
  findLink(record: FileRecord): ClickedLink | null {
    const { address, alias, key: names = [] } = this.#names
    const visited = parseAddress(this.#text(address, record))
    if (visited !== null) return { address: visited, reference: null }
    const own = this.#text(alias, record)
    if (own !== '') return { address: buildAddress('', own), reference: null }
    const reference = readKey(record, names)
    if (reference.trim() === '') return null
    const [host = '', path] = reference.split('\n')
    return { address: path === undefined ? unknownLink.address : buildAddress(host, path), reference }
  }

  /** Adds clicks. Skips a record without a valid time. */
  read(record: FileRecord, link: ClickedLink, hours: ClickHours): void {
    const time = this.#times.parse(this.#value(this.#names.time, record))
    if (typeof time !== 'string') return
    const { bot, total } = this.#names
    if (total === undefined) this.#readVisit(record, link, time, bot, hours)
    else this.#readHour(record, link, time, total, hours)
  }

  #readVisit(record: FileRecord, link: ClickedLink, time: string, bot: string | undefined, hours: ClickHours): void {
    const userAgent = this.#text(this.#names.userAgent, record)
    const isBot = bot === undefined ? classifyAgent('GET', userAgent) !== 'person' : isSet(this.#value(bot, record))
    hours.add(link, time, isBot ? 'bot' : 'person', 1, isBot ? [] : this.#readFacts(record, link, userAgent))
  }

  #readFacts(record: FileRecord, { address }: ClickedLink, userAgent: string): Fact[] {
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

  #readHour(record: FileRecord, link: ClickedLink, time: string, totalName: string, hours: ClickHours): void {
    const total = parseCount(this.#value(totalName, record)) ?? 0
    if (total === 0) return
    const { browsers = {}, operatingSystems = {} } = this.#names
    const country = (key: string) => (countries.has(key.toUpperCase()) ? key.toUpperCase() : '')
    const referrer = (key: string) => key.replaceAll('[dot]', '.').toLowerCase()
    const host = (key: string) => (key !== 'direct' && isHost(referrer(key)) ? referrer(key) : '')
    const columns = (named: Readonly<Record<string, string>>) =>
      Object.entries(named).map(([name, value]) => [value, this.#value(name, record)] as const)
    const members = (name: string | undefined, translate: (key: string) => string) =>
      Object.entries(parseObject(this.#value(name, record))).map(([key, count]) => [translate(key), count] as const)
    hours.add(link, time, 'person', total, [
      ...factsWithin(total, 'browsers', columns(browsers)),
      ...factsWithin(total, 'operating_systems', columns(operatingSystems)),
      ...factsWithin(total, 'countries', members(this.#names.countries, country)),
      ...factsWithin(total, 'referrers', members(this.#names.referrers, host)),
    ])
  }

  #value(name: string | undefined, record: FileRecord): unknown {
    return name === undefined ? undefined : readValue(record, name)
  }

  #text(name: string | undefined, record: FileRecord): string {
    return toText(this.#value(name, record)).trim()
  }
}

/** Returns the facts of a dimension; none if they exceed the total. An empty value is unknown. */
function factsWithin(total: number, dimension: LinkDimension, values: readonly (readonly [string, unknown])[]): Fact[] {
  const counts = values.map(([value, count]) => [dimension, value, parseCount(count) ?? 0] as const)
  if (counts.reduce((sum, [, , count]) => sum + count, 0) > total) return []
  return counts.filter(([, value, count]) => value !== '' && count > 0)
}

function parseObject(value: unknown): object {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}
