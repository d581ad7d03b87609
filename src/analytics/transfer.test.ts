import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keptDays, keptTotals, newClick, openClicks, sumsOf } from '../../test/clicks.ts'
import { type Later, newLocation } from '../../test/engine.ts'
import { importText } from '../../test/import-text.ts'
import { deleteLink, newDomain, newLink, newSpace, setSpace, takeDomainAway } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { transferables } from '../cli/transfer.ts'
import { shortUrls } from '../names/short-url.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage, StorageLocation } from '../storage/port.ts'
import { clickLevels } from '../storage/schema.ts'
import { exportRecords } from '../transfer/export.ts'
import type { Click } from './click-store.ts'
import { dimensions, type LinkDimension } from './day.ts'
import { clickTexts, clickTransfer } from './transfer.ts'

const noon = Date.parse('2026-11-20T12:00:00.000Z')
const [hourMs, dayMs] = [3_600_000, 86_400_000]

/** A database with the account 1, its domains 1 and 2 and its spaces 1 and 2. */
async function newPlace(later: Later, engine?: StorageLocation['engine']) {
  const location = await newLocation(later, engine)
  const storage = await openStorage(location)
  later(() => storage.close())
  const { id: account } = await createAccount(storage, 'Acme')
  for (const name of ['a.example', 'b.example']) await newDomain(storage, account, name)
  for (const name of ['Red', 'Blue']) await newSpace(storage, account, name)
  return { storage, account, ...(await openClicks(location, later)) }
}

/** The same with three links on two domains; two of the links are in spaces. */
async function newSource(later: Later, engine?: StorageLocation['engine']) {
  const place = await newPlace(later, engine)
  const { storage, account } = place
  const links = [
    await newLink(storage, { account, domain: 1 }, 'one'),
    await newLink(storage, { account, domain: 1 }, 'two'),
    await newLink(storage, { account, domain: 2 }, 'three'),
  ]
  for (const [at, space] of [1, 2].entries()) await storage.execute(setSpace({ id: links[at] as number, space }))
  return { ...place, links }
}

const click = (link: number, atMs = noon, more: Partial<Click> = {}) => newClick(link, atMs, more)
const program = (link: number, of: 'bot' | 'preview') =>
  click(link, noon, { class: of, facts: null, visitorUnder: null })

async function textOf(storage: Storage, kinds: Parameters<typeof exportRecords>[2] = transferables): Promise<string> {
  return (await Array.fromAsync(exportRecords(storage, 1, kinds))).join('')
}

const linesOf = (text: string) => text.split('\n').filter((line) => line.startsWith('{"click_day"'))
const dayOfLine = (line: string | undefined) => JSON.parse(line ?? '').click_day

test('exports hours, values and other clicks', async (t) => {
  const { storage, store, links } = await newSource((work) => t.after(work))
  const [one = 0] = links
  const from = (host: number) => ({ ...click(one).facts, referrers: `h${host}.example` }) as Click['facts']
  await store.write(1, [
    click(one, noon, { visitorUnder: () => 1 }),
    click(one, noon + hourMs, { visitorUnder: () => 1 }),
    program(one, 'bot'),
    program(one, 'preview'),
    ...Array.from({ length: 201 }, (_, n) => click(one, noon, { facts: from(n), visitorUnder: null })),
    click(links[1] as number, noon + dayMs, { facts: null }),
  ])
  const [first, second, ...more] = linesOf(await textOf(storage)).map(dayOfLine)
  const { referrers, ...rest } = first
  assert.deepEqual(rest, {
    ...{ link_id: one, day: '2026-11-20' },
    hours: [
      { hour: 12, clicks: 202, unique_clicks: 1, bots: 1, previews: 1 },
      { hour: 13, clicks: 1, unique_clicks: 0, bots: 0, previews: 0 },
    ],
    ...{ countries: [['DE', 203]], browsers: [['Firefox', 203]], operating_systems: [['Linux', 203]] },
    ...{ devices: [['desktop', 203]], languages: [['de', 203]], other: { referrers: 1 } },
  })
  assert.deepEqual([referrers.length, referrers[0], referrers[1]], [201, [null, 2], ['h0.example', 1]])
  assert.deepEqual([second.day, second.countries, second.other], ['2026-11-21', [[null, 1]], undefined])
  assert.equal(more.length, 0)
  assert.match(await textOf(storage), /\{"end":\{"domains":2,"spaces":2,"tags":0,"links":3,"click_days":2\}\}\n$/)
})

test('exports the rules of a day only if one decided a click', async (t) => {
  const { storage, store, links } = await newSource((work) => t.after(work))
  const [one = 0, two = 0] = links
  const facts = { ...click(one).facts, rules: 'Test 2' } as Record<LinkDimension, string>
  await store.write(1, [click(one, noon, { facts }), click(one), click(two), program(two, 'bot')])
  const lines = linesOf(await textOf(storage))
  assert.deepEqual(
    lines.map((line) => [dayOfLine(line).link_id, dayOfLine(line).rules]),
    [
      [
        one,
        [
          ['Test 2', 1],
          [null, 1],
        ],
      ],
      [two, undefined],
    ],
  )
  assert.ok(!lines[1]?.includes('rules'))
})

test('rejects a day with other clicks, and keeps the stored day', async (t) => {
  const { storage, store, links } = await newSource((work) => t.after(work))
  const [one = 0] = links
  await store.write(1, [click(one), click(links[1] as number)])
  const text = await textOf(storage)
  await store.write(2, [click(one)])
  const before = await keptDays(storage)
  const { known, reasons } = await importText(storage, text)
  assert.equal(known, 8)
  assert.deepEqual(reasons, [
    `9: day: The link ${one} has other clicks on 2026-11-20 here, and keeps them. To replace them, delete the link's clicks here (DELETE /api/v1/links/${one}/clicks), then import again.`,
  ])
  assert.deepEqual(await keptDays(storage), before)
})

const header = '{"waymark_export":1,"source":"elsewhere"}\n'
const link =
  '{"domain":{"id":1,"name":"a.example"}}\n{"link":{"id":7,"domain_id":1,"alias":"x","url":"https://acme.com"}}\n'
const hour = { hour: 1, clicks: 2, unique_clicks: 1, bots: 0, previews: 3 }

async function withDays(t: TestContext, ...days: object[]) {
  const { storage } = await newPlace((work) => t.after(work))
  const text = header + link + days.map((day) => `${JSON.stringify({ click_day: day })}\n`).join('')
  return { storage, ...(await importText(storage, text)) }
}

test('accepts a line with only hours, and recognizes a repeated day', async (t) => {
  const day = {
    link_id: 7,
    day: '2026-11-20',
    hours: [hour, { ...hour, hour: 0, clicks: 0, unique_clicks: 0, previews: 0 }],
  }
  const { storage, stored, known, reasons } = await withDays(t, day, { ...day, short_link: 'a.example/x' })
  assert.deepEqual([stored, known, reasons], [2, 2, []])
  const [{ facts } = assert.fail()] = await keptDays(storage)
  assert.deepEqual([...facts.hours], [[1, { people: 2, unique: 1, bots: 0, previews: 3 }]])
  assert.deepEqual([...facts.breakdowns.countries], [[null, 2]])
  const [{ clicks, previews } = assert.fail()] = await keptTotals(storage)
  assert.deepEqual([clicks, previews], [2, 3])
})

test('rejects days if their link was deleted during the import', async (t) => {
  const { storage, store, links } = await newSource((work) => t.after(work))
  const [one = 0] = links
  await store.write(1, [click(one)])
  const [line] = linesOf(await textOf(storage))
  await storage.execute(deleteLink({ id: one }))
  const target = {
    actor: systemActor(1),
    source: '',
    isOwn: true,
    asNew: false,
    idOf: () => one,
    changed: new Set<number>(),
  }
  const [became] = await clickTransfer.store(storage, target, [clickTransfer.read(dayOfLine(line))])
  assert.equal((became as Error).message, 'link_id: The link has just been deleted here.')
})

test('rejects invalid lines and lines of unknown links', async (t) => {
  const day = { link_id: 7, day: '2026-11-20', hours: [hour] }
  const { storage, stored, reasons } = await withDays(t, { ...day, countries: [['DE', 1]] }, { ...day, link_id: 8 })
  assert.equal(stored, 1)
  assert.deepEqual(reasons, [
    '4: countries: The numbers add up to 1, but the clicks of all hours to 2.',
    '5: link_id: The link 8 of the file was not imported: its line is missing, comes later, or was rejected. Fix that line first, then import again.',
  ])
  assert.equal((await keptDays(storage)).length, 0)
})

test('leaves out other periods and domains that are being removed', async (t) => {
  const { storage, store, links } = await newSource((work) => t.after(work))
  await store.write(1, [
    ...[-1, 0, 1].map((day) => click(links[0] as number, noon + day * dayMs)),
    click(links[2] as number),
  ])
  await storage.execute(takeDomainAway({ id: 2, name: 'gone' }))
  assert.equal(linesOf(await textOf(storage)).length, 3)
  const day = { from: '2026-11-20', to: '2026-11-20' }
  const texts = await Array.fromAsync(clickTexts(storage, 1, 'jsonl', day, shortUrls('https://{domain}')))
  const [line, ...more] = linesOf(texts.join(''))
  assert.equal(more.length, 0)
  const { day: told, short_link } = dayOfLine(line)
  assert.deepEqual([told, short_link], ['2026-11-20', 'a.example/one'])
})

test('exports the days of many links in order, in pages', async (t) => {
  const { storage, account, store } = await newPlace((work) => t.after(work))
  const all: number[] = []
  for (let n = 0; n < 250; n++) all.push(await newLink(storage, { account, domain: 1 }, `l${n}`))
  await store.write(
    1,
    all.flatMap((id) => [click(id), click(id, noon - dayMs)]),
  )
  const days = linesOf(await textOf(storage)).map(dayOfLine)
  assert.deepEqual(
    days.map(({ day, link_id }) => [day, link_id]),
    ['2026-11-19', '2026-11-20'].flatMap((day) => all.map((id) => [day, id])),
  )
})

test('loses no clicks of an import and simultaneous visits', async (t) => {
  const { storage, account, store } = await newPlace((work) => t.after(work))
  const own = await newLink(storage, { account, domain: 1 }, 'own')
  const lines = Array.from({ length: 500 }, (_, n) => {
    const link = { id: n + 1, domain_id: 1, alias: `l${n}`, url: 'https://acme.com', clicks: 2, previews: 3 }
    const click_day = { link_id: n + 1, day: '2026-11-20', hours: [hour] }
    return [JSON.stringify({ link }), JSON.stringify({ click_day })]
  })
  const domain = '{"domain":{"id":1,"name":"a.example"}}'
  const text = [domain, ...lines.map(([line]) => line), ...lines.map(([, line]) => line)].join('\n')
  const visiting = async () => {
    for (let n = 1; n <= 30; n++) await store.write(n, [click(own)])
  }
  const [{ reasons }] = await Promise.all([importText(storage, `${header}${text}\n`), visiting()])
  assert.deepEqual(reasons, [])
  const sums = (await keptDays(storage))
    .filter(({ level }) => level !== clickLevels.link)
    .map(({ facts }) => sumsOf(facts))
  assert.deepEqual(
    sums.map(({ people, previews, addUp }) => [people, previews, addUp.length]),
    Array(2).fill([1_030, 1_500, dimensions.length]),
  )
})
