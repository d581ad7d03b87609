/** The page Import: a file, its plan with the questions that only people can answer, and its result. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { quantity } from '../../src/lib/format.ts'
import { query as sql } from '../../src/storage/schema.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, newOwner, type Owner, type Page, signedInMember, type Visited } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { fresh } from '../links-api.ts'
import { eventually } from '../processes.ts'

const home = '/app/import'
/** The old services of tests, which redirect each path to a shop, but `/gone`. */
const old = createServer(({ url = '' }, response) => {
  const location = url === '/other' ? 'https://elsewhere.example/' : `https://acme.com${url.toLowerCase()}`
  response.writeHead(url === '/gone' ? 404 : 301, url === '/gone' ? {} : { location }).end()
})
await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve))
old.unref()
const proved = 'old.example'
const proofHosts = new Map([[proved, { address: '127.0.0.1', port: (old.address() as AddressInfo).port }]])
const app = await startApp({ proofHosts })

/** Sends a file, and returns the page of its plan with its path. */
async function plan({ browser }: Owner, text: string, typed: Form = {}): Promise<{ page: Page; path: string }> {
  const answer = await browser.post(home, { text, ...typed })
  const page = await browser.after(answer)
  return { page, path: String(answer.headers.location) }
}

/** Submits the form of a plan, and returns the next page. */
async function choose({ browser }: Owner, path: string, typed: Form = {}): Promise<Page> {
  return browser.after(await browser.submit(await browser.open(path), path, typed))
}

/** Returns a page's figures, such as `New links 2`. */
const figures = (page: Page) =>
  allOf(page.root, 'dl', { class: 'figures' }).flatMap((list) => allOf(list, 'div').map((each) => textOf(each)))
const section = (page: Page, id: string) => textOf(allOf(page.root, 'section', { id })[0] ?? assert.fail(id))
const linksOf = async ({ send }: Owner): Promise<Json[]> =>
  (await send('GET', '/links?sort=asc&per_page=100')).body.data
const table = (...rows: readonly string[]) => ['short_url,url,title,tags,clicks', ...rows].join('\n')

describe('a file', () => {
  test('is planned, imported, and listed, in three steps', async () => {
    const owner = await newOwner(app)
    const { domain, browser } = owner
    const text = table(
      `https://${domain.name}/Tea,https://acme.com/tea,Tea,"Print, Summer",12`,
      `${domain.name}/mug,https://acme.com/mug,,,`,
    )
    const { page, path } = await plan(owner, text, { tag: 'Moved' })
    assert.equal(page.heading, 'Import of a spreadsheet')
    assert.deepEqual(figures(page), ['New links2', 'Clicks12', 'New tags3'])
    assert.match(page.text, /Nothing is stored yet\./)
    assert.match(
      section(page, 'links'),
      new RegExp(`${domain.name}/Tea.*from ${domain.name}/Tea.*Tea\\s*acme.com/tea.*Print.*Summer.*Moved.*12`, 's'),
    )
    assert.equal((await linksOf(owner)).length, 0)
    const after = await choose(owner, path, { what: 'apply' })
    assert.deepEqual(figures(after), ['New links2', 'Clicks12'])
    assert.match(section(after, 'progress'), /Imported just now\.\s*You can undo it until/)
    const [tea] = await linksOf(owner)
    assert.deepEqual([tea.alias, tea.tags, tea.clicks], ['Tea', ['Moved', 'Print', 'Summer'], 12])
    const list = await browser.open(home)
    assert.match(section(list, 'imports'), /Spreadsheet or Waymark\s*Imported\s*2/)
    const history = await browser.open(after.links.find((href) => href.startsWith('/app/history?batch_id=')) ?? '')
    assert.match(history.text, /imported|import/i)
  })

  test('can be chosen instead of pasted, up to 16 MB', async () => {
    const owner = await newOwner(app)
    const form = new FormData()
    form.set('file', new File([table(`https://${owner.domain.name}/tea,https://acme.com/tea,,,`)], 'links.csv'))
    form.set('source', 'auto')
    assert.deepEqual(figures(await owner.browser.after(await owner.browser.postFiles(home, form))), ['New links1'])
    form.set('file', new File(['x'.repeat(17 * 1024 * 1024)], 'links.csv'))
    const { status, page } = await owner.browser.postFiles(home, form)
    assert.equal(status, 413)
    assert.match(page.text, /larger than 16 MB/)
  })

  test('with an error returns 422 with the error next to its field, and keeps what was pasted', async () => {
    const { browser } = await newOwner(app)
    for (const [typed, words] of [
      [{ text: '' }, /Choose a file, or paste rows\./],
      [{ text: 'short_url,url\n"a,b' }, /quote/i],
      [{ text: 'short_url,url\n' }, /row/i],
      [{ text: '{"nothing":1}' }, /matches no known format/],
      [{ text: 'a,b\n1,2', source: 'bitly' }, /matches no known format/],
      [{ text: 'url\nhttps://acme.com', time_zone: 'Mars' }, /time zone/i],
      [{ text: 'url\nhttps://acme.com', space_id: '99999' }, /space does not exist/],
      [{ text: 'url\nhttps://acme.com', tag: 'a,b' }, /comma/],
    ] as const) {
      const { status, page } = await browser.post(home, typed)
      assert.equal(status, 422, typed.text)
      assert.match(page.text, words, typed.text)
      assert.equal(page.value('text').trim(), typed.text.trim())
    }
  })

  test('needs a domain first', async () => {
    const account = await app.createAccount()
    const browser = await signedInMember(app, { account })
    assert.match((await browser.open(home)).text, /Add a domain first/)
  })
})

describe('a plan', () => {
  test('asks once for each unknown host, explains hosts of services, and copies their links to a domain', async () => {
    const owner = await newOwner(app)
    const { page, path } = await plan(
      owner,
      table(
        'https://bit.ly/a,https://acme.com/a,,,',
        'https://bit.ly/b,https://acme.com/b,,,',
        'https://x.example/c,https://acme.com/c,,,',
      ),
    )
    assert.deepEqual(figures(page), ['Left out2', 'Without a domain1'])
    assert.match(page.text, /1 row still needs a domain: choose it below\. 2 rows would be left out/)
    assert.match(page.text, /Links on bit\.ly \(2 rows\)/)
    assert.match(page.text, /bit\.ly belongs to the service, so addresses on it can’t move/)
    assert.match(section(page, 'rows'), /x\.example\/c.*The account has no domain x\.example\. Add the domain, or map/s)
    const left = await owner.browser.open(`${path}?outcome=skip`)
    assert.match(section(left, 'rows'), /bit\.ly\/a.*Addresses on bit\.ly are left out\./s)
    const next = await choose(owner, path, { 'host.bit.ly': owner.domain.name })
    assert.deepEqual(figures(next), ['New links2', 'Without a domain1'])
    assert.equal(next.value('host.bit.ly'), owner.domain.name)
    // Nothing is left out without an answer.
    assert.match(next.text, /Update the plan/)
    assert.doesNotMatch(next.text, /Import 2 links/)
    const asked = await owner.browser.submit(next, path, { what: 'apply' })
    assert.equal(asked.status, 422)
    assert.match(asked.page.text, /Choose a domain, or leave these rows out\./)
    const answered = await choose(owner, path, { 'host.x.example': '-' })
    assert.match(answered.text, /Import 2 links, leave out 1 row/)
    const result = await choose(owner, path, { what: 'apply' })
    assert.match(section(result, 'dns'), /Links to bit\.ly keep going to the old service/)
    assert.equal((await linksOf(owner)).length, 2)
  })

  const heads = [
    'Link,Custom Link,Date created,Title,Destination URL,Engagements,Status',
    'short_url,alias,created_at,title,url,clicks,state',
  ]
  for (const [head, answer, others, stored] of [
    [heads[0], 'left out', ', leave out 2 rows', 2],
    [heads[0], 'copied', '', 4],
    [heads[1], 'left out', ', leave out 3 rows', 1],
    [heads[1], 'copied', '', 4],
  ] as const) {
    test(`with the columns ${head} is applied with the addresses on bit.ly ${answer}`, async () => {
      const owner = await newOwner(app)
      const { name } = owner.domain
      const row = (short: string, custom: string) =>
        `${short},${custom},2025-03-09 07:15,Tea,https://acme.com/${custom.length},"2,048",Active`
      const rows = [
        row('https://bit.ly/4a', head === heads[0] ? `https://${name}/menu` : 'menu'),
        ...[row('https://bit.ly/4b', ''), row(`https://${name}/py1`, ''), row('bit.ly/4c', '')],
      ]
      const { page, path } = await plan(owner, [head, ...rows].join('\n'), { time_zone: 'UTC' })
      assert.match(figures(page).join(), /^New links\d,Left out\d,/)
      const last = answer === 'copied' ? await choose(owner, path, { 'host.bit.ly': name }) : page
      assert.match(last.text, new RegExp(`Import ${quantity(stored, 'link')}${others}$`))
      const result = await choose(owner, path, { what: 'apply' })
      assert.deepEqual(result.said, [])
      assert.match(section(result, 'progress'), /Imported just now/)
      assert.equal((await linksOf(owner)).length, stored)
    })
  }

  test('asks for 25 hosts at a time', async () => {
    const owner = await newOwner(app)
    const rows = Array.from({ length: 30 }, (_, n) => `https://h${n}.example/a${n},https://acme.com/a,,,`)
    const { page, path } = await plan(owner, table(...rows))
    assert.match(page.text, /5 other hosts will follow/)
    const all = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`host.h${n}.example`, owner.domain.name]))
    const next = await choose(owner, path, all)
    assert.deepEqual(figures(next), ['New links25', 'Without a domain5'])
    assert.match(next.text, /Links on h29\.example \(1 row\)/)
  })

  test('warns if no column has the alias, and imports only after a confirmation', async () => {
    const owner = await newOwner(app)
    const { page, path } = await plan(owner, 'url,Keywords\nhttps://acme.com/a,tea\nhttps://acme.com/b,mug')
    assert.match(page.said.join(), /No column has the short link or its alias\..* printed links will not work/)
    assert.deepEqual(figures(page), ['Errors2'])
    assert.match(page.text, /Columns\s*1 column not imported/)
    const mapped = await choose(owner, path, { 'column.1': 'alias' })
    assert.deepEqual(figures(mapped), ['New links2'])
    assert.doesNotMatch(mapped.text, /printed links will not work/)
    const generated = await choose(owner, path, { 'column.1': '-', generate_aliases: 'true' })
    assert.deepEqual(figures(generated), ['New links2'])
    await choose(owner, path, { what: 'apply' })
    const aliases = (await linksOf(owner)).map(({ alias }) => alias)
    assert.ok(aliases.every((alias) => !['tea', 'mug'].includes(alias)) && aliases.length === 2, aliases.join())
  })

  test('lets people say what unknown columns are, and returns 422 if the destination is missing or a field has two columns', async () => {
    const owner = await newOwner(app)
    const { page, path } = await plan(owner, 'Web address,Short\nhttps://acme.com/a,a')
    assert.deepEqual([page.value('column.0'), page.value('column.1')], ['-', '-'])
    const { browser } = owner
    for (const [typed, words] of [
      [{ 'column.1': 'alias' }, /No column has the destination/],
      [{ 'column.0': 'url', 'column.1': 'url' }, /Only one column can be/],
    ] as const) {
      const { status, page: refused } = await browser.submit(page, path, typed)
      assert.equal(status, 422)
      assert.match(refused.text, words)
      assert.equal(refused.value('column.1'), typed['column.1'])
    }
    assert.deepEqual(figures(await choose(owner, path, { 'column.0': 'url', 'column.1': 'alias' })), ['New links1'])
  })

  test('asks what to do with taken addresses: leave the rows out, rename them, or update the links', async () => {
    const owner = await newOwner(app)
    const { domain, browser } = owner
    const link = await owner.link({ alias: 'tea', url: 'https://acme.com/old', title: 'Old tea' })
    const text = table(
      `${domain.name}/tea,https://acme.com/new,New tea,,`,
      `${domain.name}/mug,https://acme.com/mug,,,`,
    )
    const { page, path } = await plan(owner, text)
    assert.deepEqual(figures(page), ['New links1', 'Conflicts1'])
    assert.match(section(page, 'rows'), /tea has another destination/)
    const asked = await browser.submit(page, path, { what: 'apply' })
    assert.equal(asked.status, 422)
    assert.match(asked.page.text, /Choose what happens to these rows\./)
    assert.deepEqual(figures(await choose(owner, path, { conflict: 'skip' })), ['New links1', 'Left out1'])
    const renamed = await choose(owner, path, { conflict: 'rename' })
    assert.match(section(renamed, 'links'), /tea-2/)
    const updated = await choose(owner, path, { conflict: 'update' })
    assert.deepEqual(figures(updated), ['New links1', 'Updated1'])
    assert.match(
      section(updated, 'updates'),
      /Destination\s*Before: https:\/\/acme.com\/old\s*After: https:\/\/acme.com\/new/,
    )
    assert.match(section(updated, 'updates'), /Title\s*Before: Old tea\s*After: New tea/)
    assert.match(updated.text, /Import 1 link, update 1 link/)
    await choose(owner, path, { what: 'apply' })
    assert.equal((await owner.send('GET', `/links/${link.id}`)).body.data.url, 'https://acme.com/new')
  })

  test('describes lost values', async () => {
    const owner = await newOwner(app)
    const host = owner.domain.name
    const text = `short_url,url,clicks,has_redirect_password,created_at\n${host}/a,https://acme.com/a,5,true,2024-01-01T00:00:00Z\n${host}/b,https://acme.com/b,,false,`
    const { page } = await plan(owner, text)
    assert.match(section(page, 'losses'), /Passwords: can’t be read, 1 link will be disabled/)
    assert.match(section(page, 'losses'), /Click counts: imported as totals for 1 link/)
    assert.match(section(page, 'losses'), /Creation times: the time of the import for 1 link without one/)
  })

  test('lists errors by line with their reasons, in pages', async () => {
    const owner = await newOwner(app)
    const rows = Array.from({ length: 30 }, (_, n) => `${owner.domain.name}/a${n},no url,,,`)
    const { page, path } = await plan(owner, table(...rows, `${owner.domain.name},https://acme.com,,,`))
    assert.match(section(page, 'rows'), /a0\s*no url\s*2\s*Leave out white space/)
    const second = await owner.browser.open(page.links.find((href) => /[?&]page=2/.test(href)) ?? '')
    assert.match(section(second, 'rows'), /32\s*The address has no path\. Set the homepage of the domain instead\./)
    assert.match(page.text, /31 rows would be left out/)
    assert.ok(!page.text.includes('Import 0 links'))
    assert.equal((await owner.browser.submit(page, path, { what: 'apply', tag: '' })).status, 303)
  })

  test('lists all rows with warnings, in pages', async () => {
    const owner = await newOwner(app)
    const rows = Array.from({ length: 26 }, (_, n) => `${owner.domain.name}/w${n + 1},https://acme.com/,CafÃ©,,`)
    const page = await owner.browser.open(`${(await plan(owner, table(...rows))).path}?outcome=warnings&page=2`)
    assert.match(section(page, 'rows'), /Warnings 26.*w26.*It probably means "Café"\./s)
  })

  test('is made again if choices changed since, or something else took an address', async () => {
    const owner = await newOwner(app)
    const { browser, domain } = owner
    const { page, path } = await plan(owner, table(`${domain.name}/tea,https://acme.com/tea,,,`))
    const changed = await browser.after(await browser.submit(page, path, { what: 'apply', tag: 'Late' }))
    assert.match(changed.said.join(), /Your choices have changed the plan/)
    await owner.link({ alias: 'tea', url: 'https://acme.com/mine' })
    const outdated = await browser.after(await browser.submit(changed, path, { what: 'apply' }))
    assert.match(outdated.said.join(), /Something in the account has changed since the plan/)
    assert.deepEqual(figures(outdated), ['Conflicts1'])
  })

  test('shows zones, spaces and tags that all links get', async () => {
    const owner = await newOwner(app)
    const space = await owner.stored('/spaces', { name: fresh('Print') })
    const text = `short_url,url,created_at\n${owner.domain.name}/tea,https://acme.com,2024-06-01 12:00:00`
    const { path } = await plan(owner, text, { time_zone: 'Europe/Vienna' })
    await choose(owner, path, { time_zone: 'America/New_York', space_id: String(space.id), tag: 'Moved' })
    await choose(owner, path, { what: 'apply' })
    const [link] = await linksOf(owner)
    assert.deepEqual([link.created_at, link.space_id, link.tags], ['2024-06-01T16:00:00.000Z', space.id, ['Moved']])
  })
})

describe('an imported file', () => {
  test('is checked against the old service, and both responses are side by side', async () => {
    const owner = await newOwner(app)
    const { browser, domain } = owner
    const rows = ['same', 'other', 'gone'].map((alias) => `https://${proved}/${alias},https://acme.com/${alias},,,`)
    const { path } = await plan(owner, table(...rows))
    await choose(owner, path, { [`host.${proved}`]: domain.name })
    const result = await choose(owner, path, { what: 'apply' })
    await browser.submit(result, `${path}/proof`)
    await eventually(async () => section(await browser.open(path), 'proof').includes('Different2'))
    const page = await browser.open(`${path}?proof=differs`)
    assert.match(section(page, 'proof'), /old\.example\/other.*301 elsewhere\.example.*302 acme\.com\/other/s)
    assert.match(section(page, 'proof'), /old\.example\/gone.*404.*302 acme\.com\/gone/s)
    const other = await browser.open(`${path}?proof=same_location`)
    assert.match(section(other, 'proof'), /old\.example\/same.*301 acme\.com\/same.*302 acme\.com\/same/s)
    assert.match(section(page, 'dns'), /Note the current records first/)
  })

  test('shows the DNS records of its domains', async () => {
    const owner = await newOwner(app)
    const { path } = await plan(owner, table(`${owner.domain.name}/tea,https://acme.com,,,`))
    const page = await choose(owner, path, { what: 'apply' })
    assert.match(section(page, 'dns'), new RegExp(`At the DNS provider for ${owner.domain.name}, add`))
  })

  test('is undone after a question, unless a link was edited', async () => {
    const owner = await newOwner(app)
    const { browser } = owner
    const { path } = await plan(owner, table(`${owner.domain.name}/tea,https://acme.com,,,9`))
    await choose(owner, path, { what: 'apply' })
    const question = await browser.open(`${path}/undo`)
    assert.match(question.text, /deletes the 1 link of the import with 9 imported clicks/)
    const [link] = await linksOf(owner)
    await owner.send('PATCH', `/links/${link.id}`, { json: { title: 'Edited' } })
    const refused = await browser.submit(question, `${path}/undo`)
    assert.equal(refused.status, 409)
    await owner.send('PATCH', `/links/${link.id}`, { json: { title: '' } })
  })

  test('that is undone has no links any more', async () => {
    const owner = await newOwner(app)
    const { path } = await plan(owner, table(`${owner.domain.name}/tea,https://acme.com,,,`))
    await choose(owner, path, { what: 'apply' })
    const page = await owner.browser.save(`${path}/undo`)
    assert.match(page.text, /The import is undone/)
    assert.deepEqual(await linksOf(owner), [])
  })
})

test('an interrupted import says so, and continues with a button', async () => {
  const owner = await newOwner(app)
  const { browser } = owner
  const { path } = await plan(owner, table(`${owner.domain.name}/tea,https://acme.com,,,`))
  await choose(owner, path, { what: 'apply' })
  const id = Number(path.split('/').at(-1))
  await app.storage.execute(sql.updateTable('imports').set({ state: 'applying' }).where('id', '=', id))
  const stopped = await browser.open(path)
  assert.match(section(stopped, 'progress'), /The import was interrupted after 1 row\./)
  assert.match((await browser.after(await browser.submit(stopped, `${path}/apply`))).text, /Imported just now/)
  assert.equal((await linksOf(owner)).length, 1)
})

test('the old page redirects, and viewers see imports without controls', async () => {
  const owner = await newOwner(app)
  const { path } = await plan(owner, table(`${owner.domain.name}/tea,https://acme.com,,,`))
  assert.equal((await owner.browser.get('/app/links/import')).headers.location, home)
  const viewer = await signedInMember(app, { account: owner.account, role: 'viewer' })
  for (const each of [home, path]) {
    const page = await viewer.open(each)
    assert.deepEqual(
      page.actions.filter((action) => action.startsWith(home)),
      [],
      each,
    )
  }
})

test('a button that is pressed twice plans and imports once', async () => {
  const owner = await newOwner(app)
  const { browser } = owner
  const form = { ...(await browser.open(home)).form(home), text: table(`${owner.domain.name}/tea,https://acme.com,,,`) }
  const answers: Visited[] = await Promise.all([browser.post(home, form), browser.post(home, form)])
  const [one, two] = answers.map(({ headers }) => String(headers.location))
  assert.equal(one, two)
  const page = await browser.open(String(one))
  const apply = { ...page.form(String(one)), what: 'apply' }
  await Promise.all([browser.post(String(one), apply), browser.post(String(one), apply)])
  assert.equal((await linksOf(owner)).length, 1)
})
