/** Adds clicks up by address and by day in the account's time zone. */
import type { Calendar } from '../accounts/calendar.ts'
import {
  addPeople,
  type DayFacts,
  dimensionsOfLinks,
  emptyDay,
  encodeDay,
  ensureHour,
  limitValues,
} from '../analytics/day.ts'
import { foldCase } from '../lib/text.ts'
import type { AddressDay } from './days/store.ts'
import type { ClickedLink, FileAddress, FileClicks } from './file-row.ts'

/** Stored code points of a path: more than an alias can have. */
const maxPath = 256

/** Returns the columns of an address. */
export function addressColumns({ host, path }: FileAddress) {
  const stored = path.length <= maxPath ? path : [...path].slice(0, maxPath).join('').toWellFormed()
  // PostgreSQL rejects U+0000.
  const text = stored.replaceAll('\0', '\ufffd')
  return { host: host ?? '', path: text, folded: foldCase(text.normalize()) }
}

export function linkColumns({ address, reference }: ClickedLink) {
  return { ...addressColumns(address), reference }
}

/** Collects clicks until there are enough for a transaction. */
export class ClickDays {
  readonly #calendar: Calendar
  readonly #days = new Map<string, { readonly link: ClickedLink; readonly day: number; readonly facts: DayFacts }>()

  constructor(calendar: Calendar) {
    this.#calendar = calendar
  }

  get size(): number {
    return this.#days.size
  }

  add({ address, reference, at, class: kind, count, facts: values }: FileClicks): void {
    const { day, hour } = this.#calendar.hourAt(Date.parse(at))
    const key = JSON.stringify([address.host, address.path, reference, day])
    const link = { address, reference }
    const { facts } = this.#days.getOrInsertComputed(key, () => ({ link, day, facts: emptyDay() }))
    const counts = ensureHour(facts, hour)
    if (kind === 'bot') {
      counts.bots += count
      return
    }
    counts.people += count
    for (const dimension of dimensionsOfLinks) {
      let unknown = count
      for (const [value, people] of Object.entries(values[dimension] ?? {})) {
        addPeople(facts.breakdowns[dimension], value, people)
        unknown -= people
      }
      if (unknown > 0) addPeople(facts.breakdowns[dimension], null, unknown)
    }
  }

  /** Removes and returns the collected days. */
  take(): AddressDay[] {
    const days = [...this.#days.values()].map(({ link, day, facts }) => {
      limitValues(facts)
      const { clicks, bots, hours, breakdowns } = encodeDay(facts)
      return { ...linkColumns(link), day, clicks, bots, hours, breakdowns }
    })
    this.#days.clear()
    // Days of groups are stored once for all links in a transaction.
    return days.sort((a, b) => a.day - b.day)
  }
}
