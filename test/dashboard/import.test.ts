/** Imports of CSV in the dashboard: what files look like, the check of their rows, corrections, storing and undo. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { systemActor } from '../../src/access/actor.ts'
import { updateAccount } from '../../src/accounts/store.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, newOwner, type Page, signedIn, type Visited } from '../dashboard.ts'

const app = await startApp()
const path = '/app/links/import'

function packed(text: string): string {
  return deflateRawSync(text).toString('base64url')
}

async function newImporter() {
  const { browser, ...place } = await newOwner(app)
  /** Sends a form with an optional file, as a browser does. */
  const send = async (form: Form, file?: string | Buffer): Promise<Visited> => {
    const data = new FormData()
    for (const [name, value] of Object.entries(form)) data.append(name, value)
    if (file !== undefined) data.append('file', new File([Buffer.from(file)], 'links.csv', { type: 'text/csv' }))
    return browser.postFiles(path, data)
  }
  /** Returns the page that checks pasted rows. */
  const check = async (csv: string, form: Form = {}): Promise<Page> => {
    const { status, page, text } = await send({ csv, ...form })
    assert.equal(status, 200, text)
    return page
  }
  /** Sends the form of a page with this button, and changed values. */
  const press = (page: Page, what: string, typed: Form = {}) => send({ ...page.form(path), what, ...typed })
  /** Creates the links that are ready, and returns the page with the notice. */
  const create = async (page: Page, typed?: Form) => browser.after(await press(page, 'create', typed))
  /** Returns these fields of all links, oldest first. */
  const links = async (...fields: string[]): Promise<unknown[]> => {
    const { data } = (await place.send('GET', '/links?sort_by=id&sort=asc&per_page=100&archived=any')).body
    return data.map((link: Json) => fields.map((field) => link[field]))
  }
  return { ...place, browser, send, check, press, create, links }
}

test('creates the links of a file, and deletes them again, except changed ones', async () => {
  const { send, create, links, browser, domain, stored, visit } = { ...(await newImporter()), visit: app.visit }
  const space = await stored('/spaces', { name: 'Press' })
  await stored('/tags', { name: 'Print' })
  const csv = [
    'Alias;Destination;TAGS;Space;Domain;Disabled;Notes',
    `Fair;acme.com/fair;print, New;PRESS;${domain.name};TRUE;"two`,
    'lines"',
    ';https://acme.com/jobs;;;;;',
    ';;;;;;',
  ]
  const { page } = await send({}, csv.join('\r\n'))
  assert.equal(page.heading, 'Check 2 rows')
  assert.match(page.text, /2 links will be created\. Nothing is stored yet\. ?This tag is new: New\./)
  assert.deepEqual(await links('id'), [])
  const list = await create(page)
  assert.deepEqual(list.said, ['2 links created. Undo Dismiss'])
  const [fair, jobs] = await links('alias', 'url', 'tags', 'space_id', 'domain_id', 'disabled', 'notes')
  assert.deepEqual(fair, ['Fair', 'https://acme.com/fair', ['New', 'Print'], space.id, domain.id, true, 'two\nlines'])
  assert.deepEqual((jobs as unknown[]).slice(1), ['https://acme.com/jobs', [], null, domain.id, false, null])
  const url = `http://${domain.name}/${(jobs as string[])[0]}`
  assert.equal((await visit(url)).status, 302)
  const [[first]] = (await links('id')) as [[number]]
  await browser.post(`/app/links/${first}/enable`)
  const undone = await browser.submit(list, '/app/history/undo')
  // The tag of the changed link stays, too.
  assert.equal(undone.page.heading, '1 change undone, 2 others stayed')
  assert.deepEqual(await links('id'), [[first]])
  assert.equal((await visit(url)).status, 404)
})

test('reads what spreadsheets write', async () => {
  const { send, check, domain } = await newImporter()
  const utf16 = Buffer.from('\ufeffDestination\tTitle\r\nhttps://acme.com\tÉté\r\n', 'utf16le')
  for (const file of [
    '\ufeffTitle,Destination\nÉté,https://acme.com\n',
    'sep=;\r\nTitle;Destination\r\nÉté;https://acme.com',
    'Title,Destination\rÉté,https://acme.com\r',
    'Title\tDestination\nÉté 27" wide\thttps://acme.com',
    Buffer.from('Title;long_url\nÉté;https://acme.com', 'latin1'),
    utf16,
    'ID,Title,Clicks (30 days),URL,created_at\n7,Été,5,https://acme.com,2026-11-20T12:00:00Z,\n',
    `Short link,Title,URL\nhttps://${domain.name}:8080/abc,Été,https://acme.com`,
  ]) {
    const { page, text } = await send({}, file)
    assert.equal(page.heading, 'Check 1 row', text)
    assert.match(page.text, /1 link will be created.*acme\.com.*Été/s)
  }
  assert.match((await check('https://acme.com/1\nhttps://acme.com/2')).text, /2 links will be created/)
  const places = 'https://maps.example/@44.4,11.3,17z\n\n"https://acme.com/a;b"\rhttps://acme.com\n'
  assert.match((await check(places)).text, /3 links will be created.*maps\.example\/@44\.4,11\.3,17z.*acme\.com\/a;b/s)
  assert.match((await send({}, 'https://acme.com/a,b\nno URL')).text, /No column is named Destination/)
  const used = `url,alias\nhttps://acme.com,\n${' ,\n'.repeat(11_000)}https://acme.com/2,`
  assert.match((await check(used)).text, /2 links will be created/)
  const other = await check(`link,url\nhttps://other.example/abc,https://acme.com\n${domain.name}/d,https://acme.com`)
  assert.match(other.text, new RegExp(`${domain.name}:3080/abc.*${domain.name}:3080/d`, 's'))
})

test('creates links on the domains of their short links', async () => {
  const { check, create, links, stored, domain } = await newImporter()
  const last = await stored('/domains', { name: `bücher.${domain.name}` })
  const hosts = [`bücher.${domain.name}`, `https://${last.name.toUpperCase()}:8080`]
  const rows = [`${hosts[0]}/1,`, `${hosts[1]}/2,`, `${hosts[0]}/3,${domain.name}`, 'other.example/4,'].map(
    (row) => `https://acme.com,${row}`,
  )
  await create(await check(['url,short_url,domain', ...rows].join('\n')))
  const places = [last.id, last.id, domain.id, domain.id].map((id, at) => [String(at + 1), id])
  assert.deepEqual(await links('alias', 'domain_id'), places)
})

test('rejects other files, and keeps what was pasted', async () => {
  const { send } = await newImporter()
  const rows = (count: number) => `url\n${'https://acme.com\n'.repeat(count)}`
  for (const [file, error] of [
    ['', /The file is empty\./],
    [Buffer.from([0x50, 0x4b, 3, 4, 0, 0]), /This is not a text file\. In your spreadsheet, save the table as CSV/],
    ['url,title\n"https://acme.com,x', /In row 2, column 1, the quote in line 2 is never closed\./],
    ['url', /There are no rows below the names/],
    [
      'summer,https://acme.com',
      /No column is named Destination\. The first row must name the columns, but is: “summer”, “https:\/\/acme\.com”\..* Alias/,
    ],
    ['url,Owner,', /The columns “Owner”, without a name are unknown\. Rename or delete them.* Title/],
    ['url,Destination\nx,y', /Two columns have the field Destination/],
    ['x,'.repeat(1_000), /more than 100 columns/],
    [`url\nhttps://acme.com\n${','.repeat(100)}x`, /Row 3: The row has 101 cells, but the first row has 1\./],
    [`url\n"${'""'.repeat(10_001)}"`, /In row 2, column 1, the cell has more than 10,000 quotes/],
    [rows(1_734), /There are 1,734 rows, and one import takes up to 1,000\. Split the file into 2 files\./],
    [rows(20_000), /There are 20,000 rows, and one import takes up to 1,000\. Split the file into 20 files\./],
    [`url,notes\nhttps://acme.com,${'x'.repeat(1024 * 1024)}`, /The file is larger than 1 MB\. Split it/],
  ] as const) {
    const { status, page } = await send({}, file)
    assert.equal(status, 422)
    assert.match(page.errorOf('file'), error)
  }
  const upload = await send({}, 'url,Owner\nacme.com,Ana')
  assert.equal(upload.page.value('csv'), 'url,Owner\nacme.com,Ana')
  const { status, page } = await send({ csv: 'url,Owner\nacme.com,Ana', space_id: '' })
  assert.deepEqual([status, page.value('csv')], [422, 'url,Owner\r\nacme.com,Ana'])
  assert.match(page.errorOf('csv'), /The column “Owner” is unknown/)
  const skipped = await send({ ...page.form(path), skip_unknown: 'true' })
  assert.match(skipped.page.text, /1 link will be created/)
  assert.match((await send({ csv: ' ' })).page.errorOf('csv'), /Choose a file, or paste the rows/)
  const large = await send({}, 'x'.repeat(3 * 1024 * 1024))
  assert.deepEqual([large.status, /larger than 1 MB\. Split it/.test(large.page.text)], [413, true])
})

test('takes rules as JSON, and names the place of an error', async () => {
  const { check, press, create, links } = await newImporter()
  const good = '[{"name":"A","countries":["DE"],"url":"https://acme.com"}]'
  const page = await check(
    `url;rules\nhttps://acme.com;${good}\nhttps://acme.com;${good.replace('DE', 'XX')}\nhttps://acme.com;`,
  )
  assert.match(page.errorOf('row-3-rules'), /The rules\.0\.countries must not contain XX\. Each value/)
  await create((await press(page, 'check', { 'row-3-rules': good })).page)
  assert.deepEqual(await links('rules'), [[JSON.parse(good)], [JSON.parse(good)], [[]]])
})

test('shows errors next to controls, and stores the corrected rows', async () => {
  const { check, press, create, links, link, domain } = await newImporter()
  await link({ alias: 'taken' })
  const page = await check(
    [
      'url,alias,domain_id,space_id,title',
      'acme,a,,,',
      'https://acme.com,TAKEN,,,',
      'https://acme.com,twice,,,',
      `https://acme.com,Twice,${domain.name},,`,
      'https://acme.com,b,nowhere.example,Nothing,',
      'https://acme.com,c,,,Fair, spring,2026',
      'https://acme.com,d,99999,0,"say ""hi"""',
      `http://${domain.name}:3080/loop,loop,,,`,
    ].join('\n'),
  )
  assert.match(page.said.join(), /7 rows have errors\. Correct them and check again, or create the other link/)
  for (const [control, error] of [
    ['row-2-url', /“Destination” must be a complete URL/],
    ['row-3-alias', /TAKEN has already been taken/],
    ['row-5-alias', /A row above already has the alias Twice/],
    ['row-6-domain_id', /This domain does not exist/],
    ['row-6-space_id', /This space does not exist/],
    ['row-7-csv', /The row has 7 cells, but the first row has 5.*Columns: Destination, Alias, Domain/],
    ['row-8-domain_id', /This domain does not exist/],
    ['row-9-url', /must not be this short link itself/],
  ] as const) {
    assert.match(page.errorOf(control), error)
  }
  assert.equal(page.value('row-6-domain_id'), 'nowhere.example')
  const typed = {
    'row-2-url': 'acme.com/a',
    'row-3-alias': 'free',
    'row-5-alias': '',
    'row-6-domain_id': String(domain.id),
    'row-6-space_id': '',
    'row-7-csv': 'https://acme.com,c,,,"Fair, spring"',
    'row-8-domain_id': '',
    'row-8-space_id': '',
    'row-99-url': 'https://acme.com',
  }
  // Another number of links than the button said is not stored.
  const again = await press(page, 'create', typed)
  assert.match(again.page.said.join(), /1 row has errors\. Correct it and check again, or create the other 7 links/)
  assert.deepEqual(again.page.refused, ['row-9-url'])
  const list = await create(again.page)
  assert.deepEqual(list.said, ['7 links created. 1 row skipped. Undo Dismiss'])
  const stored = (await links('alias', 'url', 'title')).slice(1) as string[][]
  assert.deepEqual(stored.map(([alias]) => alias).toSpliced(3, 1), ['a', 'free', 'twice', 'b', 'c', 'd'])
  assert.deepEqual([stored[0]?.[1], stored[5]?.[2], stored[6]?.[2]], ['https://acme.com/a', 'Fair, spring', 'say "hi"'])
})

test('shows the start of a cell that is far too long, and no large file again', async () => {
  const { check, send } = await newImporter()
  const page = await check(`url,tags,title\nhttps://acme.com,"${','.repeat(200_000)}",${'<'.repeat(200_000)}`)
  assert.match(page.errorOf('row-2-tags'), /at most 20/)
  assert.equal(page.value('row-2-title').length, 16_384)
  const large = await send({}, `Owner\n${'x'.repeat(300_000)}`)
  assert.deepEqual([large.status, large.page.value('csv')], [422, ''])
})

test('checks a file of Windows-1252 again that takes three times as many bytes in UTF-8', async () => {
  const { send, press } = await newImporter()
  const rows = `url;alias;notes\nhttps://acme.com;a b;${'\x80'.repeat(1024 * 1024 - 50)}`
  const { page } = await send({}, Buffer.from(rows, 'latin1'))
  assert.deepEqual(page.refused, ['row-2-alias', 'row-2-notes'])
  const again = await press(page, 'check', { 'row-2-alias': 'ab', 'row-2-notes': '' })
  assert.match(again.page.text, /1 link will be created/)
})

test('restores every setting of the links in a file of the link list, except their passwords', async () => {
  const { browser, check, create, links, link } = await newImporter()
  const set = {
    ...{ tags: ['Print', 'Sale'], notes: 'two\nlines', archived: true, disabled: true, clicks_limit: 5, title: '+1' },
    ...{ active_period_start_at: '2026-11-20T12:00:00.000Z', active_period_end_at: '2030-11-20T12:00:00.000Z' },
    ...{ expiration_url: 'https://acme.com/over', forward_query: true, redirect_status: 307, alias: 'first' },
  }
  await link(set)
  const { text } = await browser.get('/app/links.csv?archived=any')
  await create(await check(text.replace('/first,', '/second,')))
  const fields = Object.keys(set).filter((name) => name !== 'alias')
  const [first, second] = await links(...fields)
  assert.deepEqual(second, first)
  await link({ redirect_password: 'secret' })
  const again = await check((await browser.get('/app/links.csv')).text)
  assert.deepEqual(again.refused.includes('row-2-redirect_password'), true)
})

test('reads the dates and times of spreadsheets in the time zone of the account', async () => {
  const { account, check, create, links } = await newImporter()
  await updateAccount(app.storage, systemActor(account), { name: 'Acme', time_zone: 'Europe/Berlin' })
  const rows = [
    '31.12.2030 18:00',
    '1.2.2030 9:05',
    '31.12.2030, 18:00:30',
    '2030-12-31 18:00:00',
    '31.12.2030',
    '2030-06-30',
    '31.13.2030 18:00',
    '31.13.2030',
  ]
  const page = await check(['url;Stops working on', ...rows.map((time) => `https://acme.com;${time}`)].join('\n'))
  assert.deepEqual(page.refused, ['row-8-active_period_end_at', 'row-9-active_period_end_at'])
  await create(page)
  assert.deepEqual(
    (await links('active_period_end_at')).flat(),
    ['12-31T17:00:00', '02-01T08:05:00', '12-31T17:00:30', '12-31T17:00:00', '12-31T23:00:00', '06-30T22:00:00'].map(
      (time) => `2030-${time}.000Z`,
    ),
  )
  await create(await check('url,alias,Starts working on\nhttps://acme.com,start,2030-02-01'))
  assert.deepEqual((await links('alias', 'active_period_start_at')).at(-1), ['start', '2030-01-31T23:00:00.000Z'])
})

test('asks for the password of an exported link, and rejects a form that was tampered with', async () => {
  const { check, press, create, send, links } = await newImporter()
  const page = await check('url,has_redirect_password\nhttps://acme.com,TRUE')
  assert.match(page.errorOf('row-2-redirect_password'), /Password/)
  const ready = await press(page, 'check', { 'row-2-redirect_password': 'secret' })
  await create(ready.page)
  assert.deepEqual(await links('has_redirect_password'), [[true]])
  for (const form of [
    { rows: '', what: 'create' },
    { rows: 'x', what: 'create' },
    { rows: packed('"') },
    { rows: packed('#,url\nx,https://acme.com'), 'row-2-csv': '"' },
    { rows: packed('#,url\n2,https://acme.com'), 'row-2-csv': '"', what: 'create', skipped: '' },
    { rows: packed('#,url\n2,https://acme.com,'), 'row-2-csv': ','.repeat(100_000) },
    { rows: packed('#,url\n2,https://acme.com'), 'row-2-id': '7', 'row-2-constructor': 'x', page: '-1' },
    { rows: packed('a'.repeat(10_000_000)) },
    { csv: 'constructor,__proto__,url\n1,2,3' },
  ]) {
    assert.ok((await send(form)).status < 500)
  }
  assert.equal((await links('id')).length, 1)
})

test('stores nothing if an alias is taken after the check, and shows that', async () => {
  const { check, press, create, links } = await newImporter()
  const [one, two] = [
    await check('url,alias\nacme.com,x\nacme.com,y'),
    await check('url,alias\nacme.com,y\nacme.com,z'),
  ]
  await create(one)
  const { page, status } = await press(two, 'create')
  assert.equal(status, 200)
  assert.match(page.errorOf('row-2-alias'), /already been taken/)
  const { links: actions } = app.actions
  const prepare = actions.prepare.bind(actions)
  // Someone takes the alias between the check and the transaction.
  actions.prepare = async (account, fields) => {
    actions.prepare = prepare
    await (await actions.insertion(systemActor(account), { url: 'https://acme.com', alias: 'z' }))(app.storage)
    return prepare(account, fields)
  }
  const late = await press(page, 'create')
  assert.deepEqual(late.page.refused, ['row-2-alias', 'row-3-alias'])
  assert.deepEqual(await links('alias'), [['x'], ['y'], ['z']])
})

test('checks files while other accounts store links with passwords', async () => {
  const [one, two, other] = [await newImporter(), await newImporter(), await newImporter()]
  const csv = `url,redirect_password\n${'https://acme.com,secret\n'.repeat(10)}`
  const { links: actions } = app.actions
  const prepare = actions.prepare.bind(actions)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: waiting, resolve: bothWait } = Promise.withResolvers<void>()
  let storers = 0
  actions.prepare = async (...given) => {
    storers += 1
    if (storers === 2) bothWait()
    await released
    return prepare(...given)
  }
  const pages = [await one.check(csv), await two.check(csv)] as const
  const imports = [one.create(pages[0]), two.create(pages[1])]
  await waiting
  assert.match((await other.check('https://acme.com')).text, /1 link will be created/)
  actions.prepare = prepare
  release()
  for (const list of await Promise.all(imports)) assert.match(list.said.join(), /10 links created/)
})

test('knows only the domains, spaces and tags of the account', async () => {
  const [mine, theirs] = [await newImporter(), await newImporter()]
  const space = await theirs.stored('/spaces', { name: 'Theirs' })
  await theirs.link({ alias: 'same', tags: ['Secret'] })
  const row = `https://acme.com,${theirs.domain.id},${space.id}`
  const page = await mine.check(`url,domain,space\n${row}\nhttps://acme.com,${theirs.domain.name},Theirs`)
  assert.deepEqual(page.refused, ['row-2-domain_id', 'row-2-space_id', 'row-3-domain_id', 'row-3-space_id'])
  const form = { domain_id: String(theirs.domain.id), space_id: String(space.id) }
  assert.deepEqual((await mine.check('https://acme.com', form)).refused, ['row-1-domain_id', 'row-1-space_id'])
  assert.match((await mine.check('url,tags\nhttps://acme.com,Secret')).text, /This tag is new: Secret/)
  const created = await theirs.create(await theirs.check('https://acme.com'))
  await mine.browser.post('/app/history/undo', created.form('/app/history/undo'))
  assert.equal((await theirs.links('id')).length, 2)
})

test('renders a thousand rows in pages, and lets other requests run', async () => {
  const { check, press, create, send, browser } = await newImporter()
  const rows = Array.from(
    { length: 1_000 },
    (_, n) => `https://acme.com/${n},${n < 60 ? 'a b' : `x${n}`},${'n'.repeat(900)}`,
  )
  const page = await check(`url,alias,notes\n${rows.join('\n')}`)
  assert.equal(page.refused.length, 50)
  assert.match(page.text, /10 other rows with errors will follow\..*1–50 of 940/s)
  assert.doesNotMatch(page.text, /acme\.com\/999/)
  const last = await send({ ...page.form(path), page: '19' })
  assert.match(last.page.text, /901–940 of 940.*Previous/s)
  const list = await create((await press(page, 'check')).page)
  assert.deepEqual(list.said, ['940 links created. 60 rows skipped. Undo Dismiss'])
  const undone = await browser.after(await browser.submit(list, '/app/history/undo'))
  assert.deepEqual(undone.said, ['940 changes undone.'])
})

test('offers a template that can be imported, from every page where people look for it', async () => {
  const { browser, check, press, create, domain } = await newImporter()
  const { text, headers } = await browser.get(`${path}/template.csv`)
  assert.match(String(headers['content-disposition']), /waymark-import\.csv/)
  assert.match(text, new RegExp(`Destination,Alias,Domain.*summer-sale,${domain.name}`, 's'))
  assert.match((await check(text)).text, /2 links will be created/)
  await create(await check(text))
  // The file of the link list, too.
  const list = await check(`${(await browser.get('/app/links.csv')).text}${domain.name}/new,,https://acme.com\r\n`)
  assert.deepEqual(list.refused, ['row-2-alias', 'row-3-alias'])
  assert.match(list.text, /A button below skips 2 rows.*Skip 2 rows whose alias exists already/s)
  const rest = (await press(list, 'skip_existing')).page
  assert.deepEqual([rest.heading, rest.refused], ['Check 1 row', []])
  assert.deepEqual((await create(rest)).said, ['1 link created. Undo Dismiss'])
  const all = (await press(await check((await browser.get('/app/links.csv')).text), 'skip_existing')).page
  assert.match(all.text, /Every alias in the file exists already\. Nothing is stored yet\./)
  for (const place of ['/app', '/app/links']) assert.ok((await browser.open(place)).links.includes(path), place)
  const empty = await signedIn(app, await app.createKey({ account: await app.createAccount() }))
  assert.match((await empty.open(path)).text, /Add a domain first/)
  assert.equal((await empty.get(`${path}/template.csv`)).status, 200)
})
