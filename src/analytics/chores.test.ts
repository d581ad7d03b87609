import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newLink, newSpace, setSpace, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { databaseUnavailable } from '../errors.ts'
import { ClickBook } from '../storage/clicks/book.ts'
import { openClicks } from '../storage/open-clicks.ts'
import { ClickChores } from './chores.ts'
import type { Bounds } from './writer.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

async function library(t: TestContext) {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const book = new ClickBook(await openClicks(storage.location), 'a writer')
  t.after(() => book.close())
  await book.write(1, [{ link, atMs: 100 * dayMs, count: 1, class: 'person', facts: null, visitorUnder: () => 7 }])
  return { storage, ...own, link, book }
}

test('the salt of a day goes six hours after the day, and facts with the retention; before, nothing is due', async (t) => {
  const { storage, book } = await library(t)
  const asked: Bounds[] = []
  let now = 101 * dayMs + 6 * hourMs - 1
  const sweep = async (bounds: Bounds) => {
    asked.push(bounds)
    await book.forgetVisitors(bounds.visitorsBefore)
  }
  const doing = (retention: number) =>
    new ClickChores(
      storage,
      { sweep, dropSalts: async () => undefined },
      { retention, onProblem: assert.ifError, now: () => now },
    ).do()
  await doing(1)
  assert.deepEqual(asked, [])
  now += 1
  await doing(1)
  await doing(1)
  assert.deepEqual(asked, [{ visitorsBefore: 101, daysBefore: 100 }])
  now = 102 * dayMs
  await doing(0)
  assert.equal(asked.length, 1)
  await doing(1)
  assert.deepEqual(asked.at(-1), { visitorsBefore: 101, daysBefore: 101 })
})

test('a change is looked at soon, and an outage is told of once', async (t) => {
  const { storage, account, link } = await library(t)
  const away = databaseUnavailable(new Error('away'))
  const problems: unknown[] = []
  let sweeps = 0
  const sweep = async () => {
    sweeps += 1
    throw away
  }
  const onProblem = (error: unknown) => problems.push(error)
  const chores = new ClickChores(
    storage,
    { sweep, dropSalts: async () => undefined },
    { retention: 0, onProblem, now: () => 100 * dayMs },
  )
  chores.look()
  chores.begin()
  await storage.writeOne(setSpace, { id: link, space: await newSpace(storage, account, 'Red') })
  chores.look()
  await eventually(() => sweeps > 0)
  await chores.do()
  assert.deepEqual(problems, [away])
  await chores.close()
})
