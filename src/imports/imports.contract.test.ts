/** Section 17 of the API: plans, and what they store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import {
  applyImport,
  bitlyOf,
  linksOf,
  outcomesOf,
  planFile,
  rowsOf,
  sendFile,
  table,
  tea,
  undoImport,
} from '../../test/imports.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'

const app = await startApp()

test('stores only the plan, and then a link with its history, further address and state', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const planned = await planFile(place, bitlyOf(host))
  const { shown, created_at, updated_at, ...figures } = planned
  assert.deepEqual(figures, {
    ...{ id: planned.id, source: 'bitly', state: 'planned', rows: 2 },
    outcomes: { store: 2, rename: 0, update: 0, known: 0, skip: 0, conflict: 0, refuse: 0 },
    ...{ exact: 0, case_insensitive: 3, new_tags: 0, clicks: 2_055, click_days: 0 },
    losses: [{ kind: 'click_times', rows: 2 }],
    unmapped_hosts: [],
    ...{ first_link_at: '2024-01-02T03:04:05.000Z', last_link_at: '2025-03-09T07:15:00.000Z' },
    proof: { pending: 3, same: 0, same_location: 0, differs: 0, unreachable: 0 },
    ...{ progress: null, error: null, applied_at: null, undo_until: null },
  })
  assert.deepEqual(shown[0], {
    ...{ id: 1, line: 2, outcome: 'store', code: null, message: null, link_id: null, url: `${tea}/` },
    addresses: [`Tea-Menu`, '4kQz9L'].map((alias) => ({
      ...{ old_url: `https://${host}/${alias}`, short_url: `http://${host}:3080/${alias}` },
      ...{ exact: false, proof: null },
    })),
    losses: ['click_times'],
  })
  assert.deepEqual(await linksOf(place), [])
  const applied = await applyImport(place, planned)
  assert.equal(applied.state, 'applied')
  assert.equal(Date.parse(applied.undo_until) - Date.parse(applied.applied_at), 30 * 86_400_000)
  const [menu, old] = await linksOf(place)
  assert.deepEqual(
    [menu.alias, menu.url, menu.title, menu.clicks, menu.created_at, menu.archived, old.archived],
    ['Tea-Menu', `${tea}/`, 'Tea', 2_048, '2025-03-09T07:15:00.000Z', false, true],
  )
  const further = (await place.send('GET', `/links/${menu.id}/addresses`)).body.data
  assert.deepEqual(
    further.map(({ alias, clicks }: Json) => [alias, clicks]),
    [['4kQz9L', 0]],
  )
  assert.equal((await app.visit(`http://${host}/4kqz9l`)).status, 302)
  assert.equal((await rowsOf(place, planned.id))[0]?.link_id, menu.id)
  const { data: events } = (await place.send('GET', '/events?sort=asc&per_page=100')).body
  const own = events.filter(({ type }: Json) => type === 'link.created' || type === 'import.applied')
  assert.equal(new Set(own.map(({ batch_id }: Json) => batch_id)).size, 1)
  assert.equal(own.length, 3)
})

test('refuses a row with more addresses than a link has', async () => {
  const place = await newPlace(app)
  const linkWith = (addresses: number, name: string) => ({
    ...{ long_url: tea, created_at: '2024-01-02T03:04:05+0000' },
    custom_bitlinks: Array.from({ length: addresses }, (_, at) => `${place.domain.name}/${name}${at}`),
  })
  const file = JSON.stringify({ links: [linkWith(21, 'a'), linkWith(22, 'b'), linkWith(100_000, 'c')] })
  const planned = await planFile(place, file, {}, 'application/json')
  assert.deepEqual(outcomesOf(planned), ['store', 'too_many', 'too_many'])
  await applyImport(place, planned)
  const [link] = await linksOf(place)
  assert.equal((await place.send('GET', `/links/${link.id}/addresses`)).body.meta.total, 20)
})

test('plans files of two accounts at the same time', async () => {
  const [slow, fast] = [await newPlace(app), await newPlace(app)]
  const rows = Array.from({ length: 60 }, (_, at) => `s${at},${tea},secret-${at}`)
  const planned: string[] = []
  const headers = `alias,url,password\n${rows.join('\n')}`
  const first = planFile(slow, headers, { domain_map: `*=${slow.domain.name}` }).then(() => planned.push('slow'))
  await planFile(fast, table([`${fast.domain.name}/a`, tea])).then(() => planned.push('fast'))
  await first
  assert.deepEqual(planned, ['fast', 'slow'])
})

test('maps hosts, and names hosts without a domain', async () => {
  const place = await newPlace(app)
  const file = table(['https://bit.ly/a', tea], ['https://OLD.example:8443/b/', tea], ['/c', tea], ['bit.ly/d', tea])
  const planned = await planFile(place, file, {
    domain_map: `old.example=${place.domain.name.toUpperCase()},*=${place.domain.name}`,
  })
  assert.deepEqual(outcomesOf(planned), ['unmapped_host', 'store', 'store', 'unmapped_host'])
  assert.deepEqual(planned.unmapped_hosts, ['bit.ly'])
  assert.match(planned.shown[0].message, /can’t move.*Map bit\.ly to a domain of yours/)
  assert.equal(planned.shown[2].addresses[0].old_url, `https://${place.domain.name}/c`)
  const copied = await planFile(place, file, { domain_map: `bit.ly=${place.domain.name},*=${place.domain.name}` })
  assert.deepEqual(copied.unmapped_hosts, ['old.example'])
})

test('refuses rows with a code, and never the file', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const at = (path: string) => `https://${host}/${path}`
  const planned = await planFile(
    place,
    [
      'short_url,url,created_at,clicks,active_period_start_at,active_period_end_at',
      `${at('')},${tea}`,
      `${at('robots.txt')},${tea}`,
      `${at('a/../b')},${tea}`,
      `${at('plus+')},${tea}`,
      `${at('x'.repeat(256))},${tea}`,
      `${at('bell%07')},${tea}`,
      `${at('none')},`,
      `${at('mail')},ftp://tea.example/`,
      `${at('loop')},${at('LOOP')}`,
      `${at('time')},${tea},03/04/2025`,
      `${at('count')},${tea},,many`,
      `${at('period')},${tea},,,2026-01-02T00:00:00Z,2026-01-01T00:00:00Z`,
      `${at('cells')},${tea},,,,,1,2`,
      `${at('twice')},${tea}/1`,
      `${at('twice')},${tea}/1`,
      `${at('twice')},${tea}/2`,
    ].join('\n'),
  )
  assert.deepEqual(outcomesOf(planned), [
    ...['root_link', 'unsupported_alias', 'unsupported_alias', 'unsupported_alias', 'unsupported_alias'],
    ...['unsupported_alias', 'required', 'unsupported_scheme', 'loops', 'invalid_time', 'invalid_count'],
    ...['not_after_start', 'extra_cells', 'store', 'known', 'duplicate_address'],
  ])
  for (const { outcome, message } of planned.shown) assert.equal(typeof message === 'string', outcome === 'refuse')
  assert.deepEqual([planned.clicks, planned.case_insensitive, planned.outcomes.refuse], [0, 1, 14])
  assert.match(planned.shown[0].message, /homepage of the domain/)
  // Another scheme would be another address.
  assert.equal(planned.shown[7].message, 'Only the schemes http, https, mailto, tel and sms are supported.')
  await applyImport(place, planned)
  assert.deepEqual(
    (await linksOf(place)).map(({ alias }) => alias),
    ['twice'],
  )
})

test('stores aliases that differ only in case, and aliases of others that the rule rejects', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  await place.link({ domain_id: place.domain.id, alias: 'Stored', url: `${tea}/stored` })
  const rows = [
    ['q7', '1'],
    ['Q7', '2'],
    ['cup!', '3'],
    ['stored', '4'],
    ['plain', '5'],
  ]
  const inserts = rows.map(([keyword, path]) => `('${keyword}','${tea}/${path}','',null,'',0)`)
  const dump = `INSERT INTO yrl_url (keyword,url,title,timestamp,ip,clicks) VALUES ${inserts.join(',')};`
  const planned = await planFile(place, dump, { domain_map: `*=${host}` }, 'application/sql')
  assert.deepEqual(outcomesOf(planned), ['store', 'store', 'store', 'store', 'store'])
  assert.deepEqual([planned.exact, planned.case_insensitive], [3, 2])
  await applyImport(place, planned)
  for (const [path, to] of [...rows, ['Stored', 'stored'], ['STORED', 'stored'], ['PLAIN', '5']] as const) {
    assert.equal((await app.visit(`http://${host}/${path}`)).headers.location, `${tea}/${to}`)
  }
  const cup = (await linksOf(place)).find(({ alias }) => alias === 'cup!')
  assert.deepEqual([cup?.legacy, cup?.exact], [true, false])
  const csv = await planFile(
    place,
    table([`https://${host}/STORED`, `${tea}/other`], [`https://${host}/n`, tea], [`https://${host}/N`, tea]),
  )
  assert.deepEqual(outcomesOf(csv), ['conflict', 'store', 'store'])
  assert.deepEqual(
    csv.shown.map(({ addresses }: Json) => addresses[0].exact),
    [false, true, true],
  )
})

test('hosts with the names of built-in properties have no domain', async () => {
  const place = await newPlace(app)
  const file = table(['https://constructor/a', tea], ['https://__proto__/b', tea])
  const planned = await planFile(place, file, { domain_map: `old.example=${place.domain.name}` })
  assert.deepEqual(planned.unmapped_hosts, ['constructor', '__proto__'])
})

test('conflict: refuse blocks, skip omits, rename appends a number, update replaces', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const domain_id = place.domain.id
  const taken = await place.link({ domain_id, alias: 'menu', url: `${tea}/old`, title: 'Old', tags: ['a'] })
  await place.link({ domain_id, alias: 'menu-2', url: `${tea}/2` })
  const file = [
    'short_url,url,title,tags',
    `https://${host}/menu,${tea}/new,New,a|b`,
    `https://${host}/menu-3,${tea}/3`,
  ].join('\n')
  const refused = await planFile(place, file)
  assert.deepEqual(outcomesOf(refused), ['conflict', 'store'])
  assert.equal(refused.shown[0].link_id, taken.id)
  const blocked = await place.send('POST', `/imports/${refused.id}/apply`)
  assert.deepEqual([blocked.status, blocked.body.code], [409, 'import_blocked'])
  assert.deepEqual(outcomesOf(await planFile(place, file, { conflict: 'skip' })), ['skip', 'store'])
  const renamed = await planFile(place, file, { conflict: 'rename' })
  assert.equal(renamed.shown[0].addresses[0].short_url, `http://${host}:3080/menu-4`)
  const update = await planFile(place, file, { conflict: 'update' })
  assert.deepEqual([outcomesOf(update), update.new_tags], [['update', 'store'], 1])
  await applyImport(place, update)
  const changed = (await place.send('GET', `/links/${taken.id}`)).body.data
  assert.deepEqual([changed.url, changed.title, changed.tags], [`${tea}/new`, 'New', ['a', 'b']])
  assert.deepEqual(outcomesOf(await planFile(place, file, { conflict: 'update' })), ['known', 'known'])
  await undoImport(place, update)
  const back = (await place.send('GET', `/links/${taken.id}`)).body.data
  assert.deepEqual([back.url, back.title, back.tags], [`${tea}/old`, 'Old', ['a']])
  assert.deepEqual(
    (await place.send('GET', '/tags')).body.data.map(({ name }: Json) => name),
    ['a'],
  )
})

test('an export of Waymark changes only the edited field in update mode', async () => {
  const place = await newPlace(app)
  for (const n of [1, 2, 3]) {
    const redirect_password = n === 1 ? 'secret' : ''
    await place.link({ alias: `a${n}`, url: `${tea}/?utm=${n}`, title: `=${n}`, tags: ['x'], redirect_password })
  }
  const before = await linksOf(place)
  const file = (await place.send('GET', '/links/export')).text
  assert.equal((await planFile(place, file, { conflict: 'update' })).outcomes.known, 3)
  const planned = await planFile(place, file.replaceAll('utm=', 'utm_id='), { conflict: 'update' })
  assert.deepEqual([planned.outcomes.update, planned.clicks], [3, 0])
  await applyImport(place, planned)
  const after = await linksOf(place)
  assert.deepEqual(
    after.map(({ updated_at: _, ...link }) => link),
    before.map(({ updated_at: _, ...link }) => ({ ...link, url: link.url.replace('utm=', 'utm_id=') })),
  )
  assert.equal((await undoImport(place, planned)).state, 'undone')
  assert.deepEqual(
    (await linksOf(place)).map(({ url }) => url),
    before.map(({ url }) => url),
  )
})

test('gives all new links a space and a tag, and hashes readable passwords', async () => {
  const place = await newPlace(app)
  const space = await place.stored('/spaces', { name: 'Moved' })
  const dub = [
    { domain: place.domain.name, key: 'open', url: tea, tags: [{ name: 'x' }] },
    { domain: place.domain.name, key: 'closed', url: tea, password: 'opensesame' },
  ]
  const planned = await planFile(
    place,
    JSON.stringify(dub),
    { source: 'dub', space_id: String(space.id), tag: 'From Dub' },
    'application/json',
  )
  assert.equal(planned.new_tags, 2)
  await applyImport(place, planned)
  const links = await linksOf(place)
  assert.deepEqual(
    links.map(({ space_id }) => space_id),
    [space.id, space.id],
  )
  assert.deepEqual(
    links.map(({ tags }) => tags),
    [['From Dub', 'x'], ['From Dub']],
  )
  assert.deepEqual(
    links.map(({ has_redirect_password, status }) => [has_redirect_password, status]),
    [
      [false, 'active'],
      [true, 'active'],
    ],
  )
  const url = `http://${place.domain.name}/closed`
  assert.equal((await app.visit(url, { method: 'POST', form: { redirect_password: 'opensesame' } })).status, 303)
})

test('a link with an unreadable password is stored disabled', async () => {
  const place = await newPlace(app)
  const file = `short_url,url,has_redirect_password\nhttps://${place.domain.name}/a,${tea},true`
  const planned = await planFile(place, file)
  assert.deepEqual(
    planned.losses.map(({ kind }: Json) => kind),
    ['password', 'created_at'],
  )
  await applyImport(place, planned)
  assert.deepEqual(
    (await linksOf(place)).map(({ status }) => status),
    ['disabled'],
  )
})

test('clicks arrive as totals and days, and count toward the limit', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
  const clicks = [
    ['2026-11-20 09:12:00', 'a'],
    ['2026-11-20 23:30:00', 'a'],
    ['2026-11-21 10:00:00', 'a'],
    ['2026-11-20 10:00:00', 'b'],
    ['2026-11-20 10:00:00', 'orphan'],
  ].map(([at, keyword]) => `('${at}','${keyword}','direct','${agent}','192.0.2.45','AT')`)
  const dump = `INSERT INTO y_url (keyword,url,title,timestamp,ip,clicks) VALUES
    ('a','${tea}/a','','2019-05-06 18:30:00','192.0.2.44',9),('b','${tea}/b','','2019-05-06 18:30:00','',1);
    INSERT INTO y_log (click_time,shorturl,referrer,user_agent,ip_address,country_code) VALUES ${clicks.join(',')};`
  const query = { domain_map: `*=${host}`, time_zone: 'UTC' }
  assertRefused(await sendFile(place, dump, { domain_map: `*=${host}` }, 'application/sql'), ['time_zone', 'required'])
  const planned = await planFile(place, dump, query, 'application/sql')
  assert.deepEqual([planned.clicks, planned.click_days], [10, 3])
  assert.deepEqual(planned.losses, [{ kind: 'orphan_clicks', rows: 1 }])
  await applyImport(place, planned)
  assert.deepEqual(
    (await linksOf(place)).map(({ clicks: total }) => total),
    [9, 1],
  )
  const stats = async (more: string) =>
    (await place.send('GET', `/stats?name=clicks&from=2026-11-19&to=2026-11-22&${more}`)).body
  const [a] = await linksOf(place)
  const counted = (await stats(`link_id=${a?.id}`)).data.map((day: Json) => [day.clicks, day.unique_clicks])
  assert.deepEqual(counted, [
    [0, 0],
    [2, 0],
    [1, 0],
    [0, 0],
  ])
  for (const more of ['', `domain_id=${place.domain.id}`]) assert.equal((await stats(more)).meta.clicks, 4)
  const browsers = (await place.send('GET', '/stats?name=browsers&from=2026-11-19&to=2026-11-22')).body.data
  assert.deepEqual(browsers, [{ value: 'Firefox', clicks: 4 }])
  const limited = [
    { shortCode: 'full', shortUrl: `https://${host}/full`, longUrl: tea, dateCreated: '2024-02-03T10:00:00+01:00' },
  ].map((link) => ({ ...link, visitsSummary: { total: 6, nonBots: 5, bots: 1 }, tags: [], meta: { maxVisits: 5 } }))
  await applyImport(
    place,
    await planFile(place, JSON.stringify({ shortUrls: { data: limited } }), {}, 'application/json'),
  )
  const full = (await linksOf(place)).find(({ alias }) => alias === 'full')
  assert.deepEqual([full?.status, full?.clicks, full?.created_at], ['expired', 5, '2024-02-03T09:00:00.000Z'])
})

test('generates aliases for rows without one, if asked', async () => {
  const place = await newPlace(app)
  const file = `url,title\n${tea}/1,One\n${tea}/2,Two\n`
  assertRefused(await sendFile(place, file), ['source', 'unknown_format'])
  const planned = await planFile(place, file, { generate_aliases: 'true', domain_map: `*=${place.domain.name}` })
  assert.deepEqual([outcomesOf(planned), planned.shown[0].addresses], [['store', 'store'], []])
  await applyImport(place, planned)
  const links = await linksOf(place)
  assert.deepEqual(
    links.map(({ title, alias }) => [title, alias.length]),
    [
      ['One', 7],
      ['Two', 7],
    ],
  )
})

test('leaves out the addresses of a host with `-`, and rows that have no others', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const file = `Link,Custom Link,Destination URL
https://bit.ly/a1,https://${host}/Menu,${tea}/
https://bit.ly/a2,,${tea}/cups
/a3,,${tea}/pots
`
  assert.deepEqual(outcomesOf(await planFile(place, file)), Array(3).fill('unmapped_host'))
  const planned = await planFile(place, file, { domain_map: 'bit.ly=-,*=-' })
  assert.deepEqual(planned.outcomes, { ...planned.outcomes, store: 1, skip: 2, refuse: 0 })
  assert.deepEqual(
    planned.shown.map(({ message }: Json) => message),
    [null, 'Addresses on bit.ly are left out.', 'Rows without a host are left out.'],
  )
  assert.equal(planned.case_insensitive, 1)
  assert.deepEqual(planned.unmapped_hosts, ['bit.ly', '*'])
  await applyImport(place, planned)
  const [menu, ...others] = await linksOf(place)
  assert.deepEqual([menu.alias, others], ['Menu', []])
  const { body } = await place.send('GET', `/links/${menu.id}/addresses`)
  assert.deepEqual(body.data, [])
})
