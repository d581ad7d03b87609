/** Accounts whose days have no room for another value, and how long work on them holds the event loop. */
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { dayOf, startOf } from '../src/analytics/calendar.ts'
import { type DayFacts, dimensions, emptyDay, hourOf, maxValues } from '../src/analytics/day.ts'
import type { TestApp } from './app.ts'
import { setCreatedAt, storeDay } from './days.ts'
import { newPlace, type Place } from './links-api.ts'

/** The CPU time that one event-loop tick may take. Milliseconds. */
export const maxMs = 20
export const people = 5
export const today = dayOf(Date.now())

/** `link` is one of those that the day names; a link's own day names none. */
export function fullDay(link: number, isOfLink: boolean): DayFacts {
  const facts = emptyDay()
  for (let hour = 0; hour < 24; hour++) {
    Object.assign(hourOf(facts, hour), { people: (maxValues * people) / 4, unique: 1, bots: 1, previews: 1 })
  }
  for (const dimension of dimensions.filter((each) => !(isOfLink && each === 'links'))) {
    for (let n = 0; n < maxValues; n++) {
      facts.breakdowns[dimension].set(dimension === 'links' ? link + n : `value-${n}.example.com`, 6 * people)
    }
  }
  return facts
}

/** An account with a link that has full days, as its domain, its space and the account itself have. */
export async function newPlaceWith(app: TestApp, days: number): Promise<Place & { readonly link: number }> {
  const place = await newPlace(app)
  const space = await place.stored('/spaces', { name: 'Full' })
  const { id: link } = await place.link({ space_id: space.id })
  await setCreatedAt(app.storage, link, startOf(today - days))
  const sums = [place.domain.id, space.id, place.account]
  for (let day = today - days + 1; day <= today; day++) {
    await storeDay(app.storage, 0, day, link, fullDay(link, true), space.id)
    for (const [n, id] of sums.entries()) await storeDay(app.storage, n + 1, day, id, fullDay(link, false))
  }
  return { ...place, link }
}

/** What `work` takes of this thread in the longest turn of the event loop. Milliseconds. */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  let [longest, isOver] = [0, false]
  const watch = async () => {
    while (!isOver) {
      const before = process.threadCpuUsage()
      await endOfTurn()
      const { user, system } = process.threadCpuUsage(before)
      longest = Math.max(longest, (user + system) / 1_000)
    }
  }
  const watched = watch()
  try {
    await work()
  } finally {
    isOver = true
    await watched
  }
  return longest
}
