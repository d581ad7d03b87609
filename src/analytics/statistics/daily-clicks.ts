import { decodeHours } from '../../storage/clicks/day-parts.ts'
import type { Db } from '../../storage/port.ts'
import type { DayRange } from './day-range.ts'
import { readHoursOfLinks } from './store.ts'

/**
 * The clicks of people on each day of the range, for each of these links of the account: a list has one number per link and
 * day. What is not the account's has zeros.
 */
export async function dailyClicksOf(
  db: Db,
  account: number,
  linkIds: readonly number[],
  range: DayRange,
): Promise<Map<number, number[]>> {
  const clicks = new Map(linkIds.map((id) => [id, Array.from({ length: range.to - range.from + 1 }, () => 0)]))
  await readHoursOfLinks(db, account, linkIds, range, (id, day, facts) => {
    let people = 0
    for (const counts of decodeHours(facts).values()) people += counts.people
    const ofLink = clicks.get(id) as number[]
    ofLink[day - range.from] = people
  })
  return clicks
}
