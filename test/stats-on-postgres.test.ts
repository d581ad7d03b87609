/** Statistics on PostgreSQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DayFacts, dimensions, emptyDay, hourOf } from '../src/analytics/day.ts'
import { rankingOf, seriesOf } from '../src/analytics/statistics/statistics.ts'
import { storeDay } from './days.ts'
import { twoNodes } from './links.ts'

const [firstDay, days] = [20_000, 50]
const ofAccount = 3

/** A day with as many values of each dimension, each of one person. */
function dayOf(values: number): DayFacts {
  const facts = emptyDay()
  Object.assign(hourOf(facts, 7), { people: values, unique: values })
  for (const dimension of dimensions) {
    for (let n = 0; n < values; n++) facts.breakdowns[dimension].set(dimension === 'links' ? n : `${dimension}-${n}`, 1)
  }
  return facts
}

test('each dimension of small and large days adds up, and so do their hours', async (t) => {
  const { storage, account } = await twoNodes((work) => t.after(work), 'postgres')
  const subject = { scope: 'account', id: account } as const
  const range = { from: firstDay - 3, to: firstDay + days + 3 }
  let people = 0
  for (let n = 0; n < days; n++) {
    const values = n % 2 === 0 ? 1 + n : 150 + n
    people += values
    await storeDay(storage, ofAccount, firstDay + n, account, dayOf(values))
  }
  const { totals } = await seriesOf(storage, account, subject, range, 'month')
  assert.equal(totals.clicks, people)
  for (const name of dimensions) {
    const ranking = await rankingOf(storage, account, subject, range, name)
    assert.deepEqual([ranking.size, ranking.total], [199, people], name)
  }
})
