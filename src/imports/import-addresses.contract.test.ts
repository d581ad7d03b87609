/** Section 17 of the API: the addresses of imported links. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { applyImport, linksOf, outcomesOf, planFile, rowsOf, table, tea } from '../../test/imports.ts'
import { newPlace } from '../../test/links-api.ts'

const app = await startApp()

const bitlyRows = (...rows: readonly string[]) =>
  ['Link,Custom Link,Destination URL', ...rows.map((row) => `${row},${tea}/${row.length}`)].join('\n')

test('every address of a row gets a link, even if another link has one of them, or two become the same', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const [one, two] = [`https://${host}/aaa,https://${host}/one`, `https://${host}/aaa,https://${host}/two`]
  const same = `https://bit.ly/same,https://old.example/same`
  const file = bitlyRows(one, two, same)
  const first = await planFile(place, bitlyRows(`https://${host}/one,`.padEnd(one.length, ' ')))
  await applyImport(place, first)
  const planned = await planFile(place, file, { domain_map: `bit.ly=${host},old.example=${host}` })
  assert.deepEqual([outcomesOf(planned), planned.case_insensitive], [['store', 'store', 'store'], 3])
  await applyImport(place, planned)
  for (const path of ['one', 'aaa', 'two', 'same'])
    assert.equal((await app.visit(`http://${host}/${path}`)).status, 302)
  const links = await linksOf(place)
  assert.deepEqual(
    links.map(({ alias }) => alias),
    ['one', 'aaa', 'two', 'same'],
  )
  const further = await Promise.all(links.map(({ id }) => place.send('GET', `/links/${id}/addresses`)))
  assert.deepEqual(
    further.flatMap(({ body }) => body.data),
    [],
  )
  const conflicts = bitlyRows(`https://${host}/aaa,https://${host}/other`, `https://${host}/q,https://${host}/two`)
  assert.deepEqual(outcomesOf(await planFile(place, conflicts)), ['conflict', 'conflict'])
})

test('rename tries 72 numbers and then powers of two, and refuses a row if they are taken', async () => {
  const place = await newPlace(app)
  const at = (path: string | number) => `${place.domain.name}/menu${path}`
  await place.link({ domain_id: place.domain.id, alias: 'menu', url: `${tea}/old` })
  const numbers = Array.from({ length: 72 }, (_, number) => number + 2)
  const powers = Array.from({ length: 24 }, (_, power) => 2 ** (power + 7))
  for (const [taken, expected] of [
    [numbers.filter((number) => number !== 73), at('-73')],
    [numbers, at('-128')],
    [[...numbers, ...powers], null],
  ] as const) {
    const rows = taken.map((number) => [at(`-${number}`), tea] as const)
    const planned = await planFile(place, table([at(''), `${tea}/new`], ...rows), { conflict: 'rename' })
    const [first] = await rowsOf(place, planned.id, 'per_page=10&sort=asc')
    assert.equal(first?.code, expected === null ? 'alias_taken' : null)
    assert.match(String(first?.addresses[0].short_url), new RegExp(expected?.replace('/', ':3080/') ?? 'null'))
  }
})

test('rename cuts an alias that would be too long', async () => {
  const place = await newPlace(app)
  const [long, legacy] = ['x'.repeat(128), '!'.repeat(255)]
  const fileOf = (path: string) =>
    table(...[long, legacy].map((alias) => [`https://${place.domain.name}/${alias}`, `${tea}/${path}`] as const))
  for (const path of ['1', '2']) await applyImport(place, await planFile(place, fileOf(path), { conflict: 'rename' }))
  assert.deepEqual(
    (await linksOf(place)).map(({ alias, legacy: isLegacy }) => [alias.length, isLegacy, alias.slice(-2)]),
    [
      [128, false, 'xx'],
      [255, true, '!!'],
      [127, false, '-2'],
      [254, true, '-2'],
    ],
  )
})

const shlinkVisit = { referer: '', userAgent: '', potentialBot: false }
const kuttDump = (host: string) => `-- PostgreSQL database dump
INSERT INTO domains (id, address, homepage) VALUES (4, '${host}', NULL);
INSERT INTO visits (link_id, created_at, total, br_chrome, os_ios) VALUES (7, '2026-11-20 07:00:00+00', 5, 5, 0), (8, '2026-11-20 07:00:00+00', 1, 0, 0);
INSERT INTO links (id, address, target, visit_count, domain_id, created_at) VALUES (7, 'Menu', '${tea}', 4, 4, '2025-03-09 07:15:00+00');`

for (const [what, type, fileFor] of [
  ['a table of hours in front of the links', 'application/sql', kuttDump],
  [
    'long pages of visits in front of the links',
    'application/json',
    (host: string) => {
      // More hours than fit into memory.
      const hours = Array.from({ length: 5_000 }, (_, at) => new Date(Date.UTC(2026, 10, 20, -at)).toISOString())
      const data = hours.map((date) => ({ ...shlinkVisit, date }))
      const shortUrl = { shortCode: 'Menu', shortUrl: `https://${host}/Menu`, longUrl: tea, domain: null, tags: [] }
      return JSON.stringify([
        { visits: { data }, shortCode: 'Menu', domain: null },
        { visits: { data: data.slice(0, 1) }, shortCode: 'gone', domain: null },
        { shortUrls: { data: [{ ...shortUrl, dateCreated: '2025-03-09T07:15:00Z' }] } },
      ])
    },
  ],
] as const) {
  test(`gives a link the clicks of ${what}`, async () => {
    const place = await newPlace(app)
    const planned = await planFile(place, fileFor(place.domain.name), {}, type)
    const clicks = type === 'application/sql' ? 5 : 5_000
    assert.deepEqual([outcomesOf(planned), planned.clicks], [['store'], clicks])
    assert.deepEqual(planned.losses, [{ kind: 'orphan_clicks', rows: 1 }])
    await applyImport(place, planned)
    const [link] = await linksOf(place)
    const { meta } = (await place.send('GET', `/stats?name=clicks&from=2026-11-20&to=2026-11-20&link_id=${link.id}`))
      .body
    assert.deepEqual([link.clicks, meta.clicks], [clicks, type === 'application/sql' ? 5 : 1])
  })
}
