/** Statistics on PostgreSQL, which reads of a large day only what is asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rankingOf, seriesOf } from '../src/analytics/statistics/reading.ts'
import { type DayFacts, dimensions, emptyDay, hourOf } from '../src/storage/clicks/day-facts.ts'
import type { Db } from '../src/storage/port.ts'
import { factsOf, removeDay, storeDay } from './days.ts'
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

test('a day that is written to between two looks at it is read as it is then', async (t) => {
  const { storage, account } = await twoNodes((work) => t.after(work), 'postgres')
  const range = { from: firstDay, to: firstDay }
  const read = async (later: readonly DayFacts[]) => {
    await storage.writeOne(removeDay, { scope: ofAccount, day: firstDay, id: account })
    await storeDay(storage, ofAccount, firstDay, account, dayOf(150))
    const left = [...later]
    let looks = 0
    const db: Db = {
      ...storage,
      async all(statement, params) {
        looks += 1
        const next = looks > 1 ? left.shift() : undefined
        if (next !== undefined) {
          await storage.writeOne(removeDay, { scope: ofAccount, day: firstDay, id: account })
          await storeDay(storage, ofAccount, firstDay, account, next)
        }
        return storage.all(statement, params)
      },
    }
    const ranking = await rankingOf(db, account, { scope: 'account', id: account }, range, 'referrers')
    const stored = await factsOf(storage, ofAccount, firstDay, account)
    assert.equal(ranking.total, stored?.hours.get(7)?.people)
    assert.equal(left.length, 0)
    return [looks, ranking.total]
  }
  assert.deepEqual(await read([]), [2, 150])
  assert.deepEqual(await read([dayOf(170)]), [3, 170])
  assert.deepEqual(await read([dayOf(170), dayOf(190)]), [4, 190])
  // It is small by then, and needs no other look.
  assert.deepEqual(await read([dayOf(2)]), [2, 2])
})
