import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { keptSalts, newClick, openClicks } from '../../test/clicks.ts'
import { newLink, twoNodes } from '../../test/links.ts'
import { dayMs, hourMs } from '../accounts/calendar.ts'
import { databaseUnavailable } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { Salts } from './salts.ts'

const today = Math.floor(Date.now() / dayMs) * dayMs

/** A database whose transactions end when the test says so. */
function slowDatabase(t: TestContext) {
  const writes: PromiseWithResolvers<ReadonlyMap<number, Uint8Array>>[] = []
  const write = () => {
    const pending = Promise.withResolvers<ReadonlyMap<number, Uint8Array>>()
    writes.push(pending)
    return pending.promise
  }
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: today })
  let passedMs = 0
  t.mock.method(performance, 'now', () => passedMs)
  const pass = (ms: number) => {
    passedMs += ms
    t.mock.timers.tick(ms)
  }
  return { salts: new Salts({ write } as Pick<Db, 'write'>), writes, pass }
}

const stored = (day: number, first = 7) => new Map([[day, new Uint8Array([first])]])

test('creates a salt once, for all processes and the click writer', async (t) => {
  const later = (work: () => unknown) => t.after(work)
  const { storage, other, ...own } = await twoNodes(later)
  const days = [today - hourMs, today]
  const places = [new Salts(storage), new Salts(other), new Salts(storage)]
  const read = await Promise.all(places.flatMap((salts) => days.map((day) => salts.of(day))))
  const rows = (await keptSalts(storage)).map(({ salt }) => salt)
  assert.deepEqual(
    rows.map(({ length }) => length),
    [16, 16],
  )
  assert.notDeepEqual(rows[0], rows[1])
  for (const [at, salt] of read.entries()) assert.deepEqual(salt, rows[at % 2])
  assert.equal(places[0]?.of(today), read[1])

  const { store } = await openClicks(storage.location, later)
  const used: Uint8Array[] = []
  const visitorUnder = (salt: Uint8Array) => used.push(salt)
  await store.write(1, [newClick(await newLink(storage, own, 'sale'), today, { visitorUnder })])
  assert.deepEqual(used, [rows[1]])
})

test('replaces a salt that was emptied before its deletion', async (t) => {
  const { storage } = await twoNodes((work) => t.after(work))
  const empty = { day_start_ms: today, salt: new Uint8Array() }
  await storage.execute(query.insertInto('click_salts').values(empty))
  const salt = await new Salts(storage).of(today)
  assert.equal(salt?.length, 16)
  assert.deepEqual((await keptSalts(storage))[0]?.salt, salt)
})

test('returns no salt while the database is down, and reads it a second after a failure', async (t) => {
  const { salts, writes, pass } = slowDatabase(t)
  const both = [salts.of(today), salts.of(today)]
  writes[0]?.reject(databaseUnavailable(new Error('down')))
  assert.deepEqual(await Promise.all(both), [undefined, undefined])
  pass(999)
  assert.deepEqual([salts.of(today), salts.of(today + 1), writes.length], [undefined, undefined, 1])
  pass(1)
  const again = salts.of(today)
  writes[1]?.resolve(stored(today))
  assert.deepEqual(await again, new Uint8Array([7]))
})

test('returns no salt after a second without a response, and uses a late response', async (t) => {
  const { salts, writes, pass } = slowDatabase(t)
  const waiting = salts.of(today)
  pass(999)
  const late = salts.of(today)
  pass(1)
  assert.deepEqual([await waiting, await late, salts.of(today)], [undefined, undefined, undefined])
  pass(1_000)
  // The same transaction still runs.
  assert.deepEqual([await salts.of(today), writes.length], [undefined, 1])
  writes[0]?.resolve(stored(today))
  await nextTick()
  assert.deepEqual(salts.of(today), new Uint8Array([7]))
})

test('removes a salt from memory when the database deletes it', async (t) => {
  const { salts, writes, pass } = slowDatabase(t)
  const read = salts.of(today)
  writes[0]?.resolve(stored(today))
  await read
  pass(30 * hourMs - 1)
  assert.deepEqual(salts.of(today), new Uint8Array([7]))
  pass(1)
  assert.equal(salts.of(today), undefined)
  // With the clock set back, it is read again.
  t.mock.timers.setTime(today)
  void salts.of(today)
  assert.equal(writes.length, 2)
})

test('has the salts of at most 200 days in memory', async (t) => {
  const { salts, writes } = slowDatabase(t)
  for (let day = today; day <= today + 200; day++) {
    const read = salts.of(day)
    writes.at(-1)?.resolve(stored(day, day % 256))
    await read
  }
  assert.deepEqual(salts.of(today + 200), new Uint8Array([(today + 200) % 256]))
  assert.deepEqual(salts.of(today + 1), new Uint8Array([(today + 1) % 256]))
  assert.equal(writes.length, 201)
  void salts.of(today)
  assert.equal(writes.length, 202)
})
