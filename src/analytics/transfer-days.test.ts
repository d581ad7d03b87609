/** Days of links that are imported without the links: what `waymark export clicks` writes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeptDay, keptDays, keptTotals, openClicks } from '../../test/clicks.ts'
import { addClicks, dayWith, storeDay } from '../../test/days.ts'
import type { Later } from '../../test/engine.ts'
import { importText } from '../../test/import-text.ts'
import { deleteLink, dueOf, newDomain, newLink, newSpace, setSpace, twoNodes } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { dayText } from '../accounts/calendar.ts'
import { createAccount } from '../accounts/store.ts'
import { transferables } from '../cli/transfer.ts'
import { removeClicks } from '../events/erasure.ts'
import { shortUrls } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { clickLevels } from '../storage/schema.ts'
import { clickTexts } from './transfer.ts'
import { raiseTotals, storeDays } from './transfer-store.ts'

const day = 20_000
const forever = { from: undefined, to: undefined }

/** A database with two links on one domain. */
async function newPlace(later: Later) {
  const { storage, account, domain } = await twoNodes(later)
  const links = [
    await newLink(storage, { account, domain }, 'Sale'),
    await newLink(storage, { account, domain }, 'straße/ab'),
  ]
  return { storage, account, domain, links }
}

const shortUrl = shortUrls('https://{domain}')

async function textOf(storage: Db, format: 'jsonl' | 'csv' = 'jsonl'): Promise<string> {
  return (await Array.fromAsync(clickTexts(storage, 1, format, forever, shortUrl))).join('')
}

const people = dayWith([
  { hour: 1, kind: 'people', isFirst: true, values: { countries: 'DE', referrers: 'a.example' } },
  { hour: 3, kind: 'people', values: { countries: 'FR' } },
  { hour: 3, kind: 'bots' },
])

const countsOf = async (storage: Db) =>
  (await keptTotals(storage)).map(({ clicks, bots, previews }) => [clicks, bots, previews])

test('imports days by the domain and alias of their links', async (t) => {
  const later: Later = (work) => t.after(work)
  const [here, there] = [await newPlace(later), await twoNodes(later)]
  for (const [at, link] of here.links.entries()) await addClicks(here.storage, link, day - at, people)
  await addClicks(here.storage, here.links[0] as number, day - 7, people)
  // There, the ids are others, an alias is written in another case, and another account has such a link, too.
  const { account, domain, storage } = there
  const { id: other } = await createAccount(storage, 'Other')
  const strange = await newLink(
    storage,
    { account: other, domain: await newDomain(storage, other, 'x.example') },
    'sale',
  )
  const links = [
    await newLink(storage, { account, domain }, 'STRASSE/AB'),
    await newLink(storage, { account, domain }, 'sale'),
  ]
  const text = await textOf(here.storage)
  const whole = { refused: 0, missing: null, reasons: [] }
  assert.deepEqual(await importText(storage, text), { ...whole, stored: 3, known: 0 })
  const shape = (days: readonly KeptDay[], of: readonly number[]) =>
    days
      .filter(({ level }) => level === clickLevels.link)
      .map(({ day, id, facts: { hours, breakdowns } }) => ({ day, link: of.indexOf(id), hours, breakdowns }))
      .sort((a, b) => a.day - b.day)
  assert.deepEqual(shape(await keptDays(storage), links.toReversed()), shape(await keptDays(here.storage), here.links))
  assert.deepEqual(await countsOf(storage), [[0, 0, 0], ...(await countsOf(here.storage)).toReversed()])
  assert.equal((await keptTotals(storage))[0]?.link_id, strange)
  assert.deepEqual(await importText(storage, text), { ...whole, stored: 0, known: 3 })
})

test('rejects days if the account lacks their link, with a fix in the message', async (t) => {
  const { storage, links } = await newPlace((work) => t.after(work))
  await addClicks(storage, links[0] as number, day, people)
  const { id: other } = await createAccount(storage, 'Other')
  await newLink(storage, { account: other, domain: await newDomain(storage, other, 'x.example') }, 'Sale')
  const text = (await textOf(storage)).replace('go.acme.com/', 'x.example/')
  const { refused, reasons } = await importText(storage, text)
  assert.equal(refused, 1)
  assert.deepEqual(reasons, [
    '2: short_link: This account has no link x.example/Sale. Store the link first, then import again; "export" without "clicks" has links and their clicks in one file.',
  ])
})

test('rejects CSV, with a fix in the message', async (t) => {
  const { storage, links } = await newPlace((work) => t.after(work))
  await addClicks(storage, links[0] as number, day, people)
  await assert.rejects(importText(storage, await textOf(storage, 'csv')), {
    message:
      'The file has clicks as CSV, which is for spreadsheets and leaves out the hours. Export them as JSON Lines, which is what "export clicks" writes without --format, and import those.',
  })
})

interface LineDay {
  readonly link: number
  readonly day: number
  readonly hours: readonly { hour: number; clicks: number; bots: number; previews: number }[]
}

const aliases = ['sale', 'STRASSE/ab']

function fileOf(days: readonly LineDay[]): string {
  const lines = days.map(({ link, day: of, hours }) => ({
    click_day: {
      ...{ link_id: link + 70, short_link: `go.acme.com/${aliases[link]}`, day: dayText(of) },
      hours: hours.map((hour) => ({ ...hour, unique_clicks: 0 })),
    },
  }))
  const all = [{ waymark_export: 1, source: 'elsewhere' }, ...lines, { end: { click_days: days.length } }]
  return all.map((line) => `${JSON.stringify(line)}\n`).join('')
}

test('moves and deletes link days after an interrupted import', async (t) => {
  const { storage, links } = await newPlace((work) => t.after(work))
  const [sale = 0, other = 0] = links
  const space = await newSpace(storage, 1, 'Red')
  const file = fileOf([0, 1].map((link) => ({ link, day, hours: [{ hour: 1, clicks: 3, bots: 0, previews: 0 }] })))
  const stopped = transferables.map((kind) =>
    'complete' in kind ? { ...kind, complete: () => Promise.reject(new Error('stopped')) } : kind,
  )
  await assert.rejects(importText(storage, file, stopped), { message: 'stopped' })
  await storage.execute(setSpace({ id: sale, space }))
  await storage.execute(deleteLink({ id: other }))
  await removeClicks(storage, clickLevels.link, [other])
  const { maintenance } = await openClicks(storage.location, (work) => t.after(work))
  await maintenance.moveClicks()
  await maintenance.deleteRemoved()
  const kept = (await keptDays(storage)).map(({ level, id }) => [level, id])
  assert.deepEqual(kept, [
    [clickLevels.link, sale],
    [clickLevels.domain, 1],
    [clickLevels.space, space],
    [clickLevels.account, 1],
  ])
})

test('keeps higher totals until the days have more clicks, and makes the status due', async (t) => {
  const { storage, account, domain } = await twoNodes((work) => t.after(work))
  const limited = await newLink(storage, { account, domain }, 'sale', 4)
  const line = (of: number, clicks: number) => ({
    link: 0,
    day: of,
    hours: [{ hour: 1, clicks, bots: 0, previews: 0 }],
  })
  const link = { id: 70, domain_id: 1, alias: 'old', url: 'https://acme.com', clicks: 9 }
  const records = [{ domain: { id: 1, name: 'go.acme.com' } }, { link }].map((each) => `${JSON.stringify(each)}\n`)
  const [header, ...days] = fileOf([line(day, 3), line(day - 1, 2)]).split(/(?<=\n)/)
  assert.deepEqual((await importText(storage, [header, ...records, ...days].join(''))).reasons, [])
  assert.deepEqual((await countsOf(storage))[1], [9, 0, 0])
  assert.equal((await storage.execute(dueOf({ id: limited })))[0]?.status_due_at, null)
  await importText(storage, fileOf([line(day, 3), line(day - 1, 2)]))
  assert.deepEqual(await countsOf(storage), [
    [5, 0, 0],
    [9, 0, 0],
  ])
  assert.equal((await storage.execute(dueOf({ id: limited })))[0]?.status_due_at, '')
})

test("changes nothing for another account's link", async (t) => {
  const later: Later = (work) => t.after(work)
  const { storage, links } = await newPlace(later)
  const { maintenance } = await openClicks(storage.location, later)
  const [link = 0] = links
  const { id: other } = await createAccount(storage, 'Other')
  // The sums of the link's days are higher than its totals.
  await storeDay(storage, clickLevels.link, day, link, people)
  const stored = async () => [await keptDays(storage), await keptTotals(storage)]
  const before = await stored()
  const outcomes = await storage.write((tx) => storeDays(tx, other, [{ link, day: day - 1, facts: people }]))
  assert.deepEqual(outcomes, ['gone'])
  await storage.write((tx) => raiseTotals(tx, other, [link]))
  assert.equal(await maintenance.deleteClicks(systemActor(other), link), false)
  assert.deepEqual(await stored(), before)
})
