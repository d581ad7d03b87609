/** Visits of links with rules, with a real database. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp, type TestApp } from '../app.ts'
import type { Answer, Json } from '../client.ts'
import { signedInMember } from '../dashboard.ts'
import { clicksOf } from '../links.ts'
import { eventually } from '../processes.ts'

const app = await startApp({ trustProxy: 1, countryHeader: 'cf-ipcountry' })
const host = 'http://go.acme.com'
const url = 'https://acme.com/'
const location = ({ headers }: Answer) => headers.location

await app.stored('/domains', { name: 'go.acme.com', not_found_url: 'https://acme.com/lost' })

let links = 0

/** Stores a link with these rules. Returns its short URL. */
async function linkWith(rules: Json, fields: Json = {}): Promise<string> {
  links += 1
  await app.stored('/links', { url, alias: `r${links}`, rules, ...(fields as object) })
  return `${host}/r${links}`
}

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'

/** Returns the destination of a visit. */
async function destination(short: string, headers: Readonly<Record<string, string>> = {}): Promise<string | undefined> {
  return location(await app.visit(short, { headers: { 'user-agent': firefox, ...headers } }))
}

const to = (path: string) => `https://acme.com/${path}`

describe('conditions', () => {
  for (const [condition, matching, other] of [
    [{ countries: ['DE', 'at'] }, { 'cf-ipcountry': 'AT' }, { 'cf-ipcountry': 'CH' }],
    [{ countries: ['DE'] }, { 'cf-ipcountry': 'de' }, { 'cf-ipcountry': 'XX' }],
    [{ countries: ['US'] }, { 'x-forwarded-for': '8.8.8.8' }, { 'x-forwarded-for': '203.0.113.1' }],
    [{ languages: ['pt'] }, { 'accept-language': 'pt-BR,en;q=0.9' }, { 'accept-language': 'en,pt-BR;q=0.9' }],
    [{ languages: ['pt-br'] }, { 'accept-language': 'pt-BR' }, { 'accept-language': 'pt' }],
    [{ languages: ['he'] }, { 'accept-language': 'iw-IL' }, {}],
    [{ languages: ['*'] }, { 'accept-language': 'de' }, { 'accept-language': '*' }],
    [{ devices: ['mobile'] }, { 'user-agent': iphone }, {}],
    [{ operating_systems: ['iOS'], browsers: ['Safari'] }, { 'user-agent': iphone }, {}],
    [{ browsers: ['Firefox'] }, {}, { 'user-agent': '' }],
  ] as const) {
    test(`${JSON.stringify(condition)} match ${JSON.stringify(matching).slice(0, 60)}`, async () => {
      const short = await linkWith([{ name: 'Rule', ...condition, url: to('rule') }])
      assert.equal(await destination(short, matching), to('rule'))
      assert.equal(await destination(short, other), url)
    })
  }

  test('a query must have all parameters, at any place', async () => {
    const short = await linkWith([{ name: 'Mail', query: { utm_source: 'mail', ref: null }, url: to('mail') }])
    assert.equal(await destination(`${short}?ref&x=1&utm_source=post&utm_source=mail`), to('mail'))
    assert.equal(await destination(`${short}?utm_source=mail`), url)
    assert.equal(await destination(`${short}?ref=1&utm_source=Mail`), url)
  })

  test('a time is from the start and before the end', async () => {
    const [past, future] = ['2020-01-01T00:00:00Z', '2999-01-01T00:00:00+02:00']
    assert.equal(
      await destination(await linkWith([{ name: 'Now', from: past, until: future, url: to('now') }])),
      to('now'),
    )
    assert.equal(await destination(await linkWith([{ name: 'Later', from: future, url: to('later') }])), url)
    assert.equal(await destination(await linkWith([{ name: 'Over', until: past, url: to('over') }])), url)
  })
})

test('the first rule whose conditions all match decides, and one without conditions always matches', async () => {
  const short = await linkWith([
    { name: 'German phones', countries: ['DE'], devices: ['mobile'], url: to('de-mobile') },
    { name: 'Germany', countries: ['DE'], url: to('de') },
    { name: 'Phones', devices: ['mobile'], url: to('mobile') },
    { name: 'Others', url: to('others') },
  ])
  const germany = { 'cf-ipcountry': 'DE' }
  assert.equal(await destination(short, { ...germany, 'user-agent': iphone }), to('de-mobile'))
  assert.equal(await destination(short, germany), to('de'))
  assert.equal(await destination(short, { 'user-agent': iphone }), to('mobile'))
  assert.equal(await destination(short), to('others'))
})

test('bots and previews get the URL of the link', async () => {
  const short = await linkWith([{ name: 'All', url: to('rule') }])
  assert.equal(await destination(short, { 'user-agent': 'Googlebot/2.1' }), url)
  assert.equal(await destination(short, { 'user-agent': 'WhatsApp/2.23' }), url)
  const head = await app.visit(short, { method: 'HEAD', headers: { 'user-agent': firefox } })
  assert.equal(location(head), url)
  assert.match((await app.visit(`${short}+`, { headers: { 'user-agent': firefox } })).text, /https:\/\/acme\.com\/</)
})

test('status, limit and password come before the rules', async () => {
  const rules = [{ name: 'All', url: to('rule') }]
  assert.equal(await destination(await linkWith(rules, { disabled: true })), to('lost'))
  const over = await linkWith(rules, { active_period_end_at: '2020-01-01 00:00', expiration_url: to('over') })
  assert.equal(await destination(over), to('over'))
  const limited = await linkWith(rules, { clicks_limit: 1 })
  assert.equal(await destination(limited), to('rule'))
  assert.equal(await destination(limited), to('lost'))
  const locked = await linkWith(rules, { redirect_password: 'swordfish' })
  const asked = await app.visit(locked, { headers: { 'user-agent': firefox } })
  assert.deepEqual([asked.status, location(asked)], [401, undefined])
  const unlocked = await app.visit(locked, { method: 'POST', form: { redirect_password: 'swordfish' } })
  assert.deepEqual([unlocked.status, location(unlocked)], [303, to('rule')])
})

test('the query is forwarded to the destination of a rule', async () => {
  const short = await linkWith([{ name: 'All', url: `${to('rule')}?a=1#end` }], { forward_query: true })
  assert.equal(await destination(`${short}?b=2`), `${to('rule')}?a=1&b=2#end`)
})

test('a rule that redirects back to the short link is a loop', async () => {
  const other = await linkWith([])
  const short = await linkWith([{ name: 'Germany', countries: ['DE'], url: `${other}?de` }])
  const back = { rules: [{ name: 'Back', query: { de: null }, url: short }] }
  const { data } = (await app.send('GET', `/api/v1/links?search=${encodeURIComponent(other)}`)).body
  assert.equal((await app.send('PATCH', `/api/v1/links/${data[0].id}`, { json: back })).status, 200)
  assert.equal(await destination(short), url)
  const looped = await app.visit(short, { headers: { 'user-agent': firefox, 'cf-ipcountry': 'DE' } })
  assert.deepEqual([looped.status, location(looped)], [404, undefined])
})

test('a loop is found even if a rule only returns visitors with the forwarded query', async () => {
  const through = await linkWith([])
  const short = await linkWith([], { url: through, forward_query: true })
  const { data } = (await app.send('GET', `/api/v1/links?search=${encodeURIComponent(through)}`)).body
  const back = { rules: [{ name: 'Back', query: { ref: null }, url: short }] }
  assert.equal((await app.send('PATCH', `/api/v1/links/${data[0].id}`, { json: back })).status, 200)
  assert.equal(await destination(short), through)
  assert.equal((await app.visit(`${short}?ref=1`, { headers: { 'user-agent': firefox } })).status, 404)
})

test('a change of rules reaches visitors immediately', async () => {
  const { id } = await app.stored('/links', { url, alias: 'changing', rules: [{ name: 'One', url: to('one') }] })
  const short = `${host}/changing`
  assert.equal(await destination(short), to('one'))
  await app.send('PATCH', `/api/v1/links/${id}`, { json: { rules: [] } })
  assert.equal(await destination(short), url)
})

test('weekdays and hours follow the time zone of the account, on every node', async () => {
  const node = await startApp({ storage: () => app.storage })
  // The rule matches at exactly one of two times that are half a day apart.
  const utc = new Date().getUTCHours()
  const hours = utc < 12 ? '00:00-12:00' : '12:00-24:00'
  const short = await linkWith([{ name: 'Half', hours, url: to('half') }])
  const on = async (each: TestApp) => location(await each.visit(short, { headers: { 'user-agent': firefox } }))
  for (const each of [app, node]) assert.equal(await on(each), to('half'))
  const browser = await signedInMember(app)
  // It is twelve hours ahead of UTC.
  await browser.save('/app/account', { time_zone: 'Etc/GMT-12' })
  assert.equal(await on(app), url)
  await eventually(async () => (await on(node)) === url)
})

test('a visitor gets the same variant on every node, and private visits are drawn separately', async () => {
  const node = await startApp({ storage: () => app.storage, trustProxy: 1 })
  const urls = [
    { url: to('a'), weight: 1 },
    { url: to('b'), weight: 1 },
  ]
  const short = await linkWith([{ name: 'Test', urls }])
  const visit = async (on: TestApp, visitor: number, headers = {}) => {
    const sent = { 'user-agent': firefox, 'x-forwarded-for': `198.51.100.${visitor}`, ...headers }
    return location(await on.visit(short, { headers: sent })) ?? ''
  }
  const visitors = Array.from({ length: 40 }, (_, at) => at)
  const first = await Promise.all(visitors.map((visitor) => visit(app, visitor)))
  assert.deepEqual([...new Set(first)].sort(), [to('a'), to('b')])
  for (const on of [app, node]) assert.deepEqual(await Promise.all(visitors.map((each) => visit(on, each))), first)
  const drawn = await Promise.all(visitors.map(() => visit(app, 1, { 'sec-gpc': '1' })))
  assert.equal(new Set(drawn).size, 2)
})

test('each click counts once, whatever decided it', async () => {
  const { id } = await app.stored('/links', {
    url,
    alias: 'counted',
    rules: [{ name: 'Germany', countries: ['DE'], url: to('de') }],
  })
  for (const country of ['DE', 'FR', 'DE']) await destination(`${host}/counted`, { 'cf-ipcountry': country })
  await eventually(async () => (await app.storage.execute(clicksOf({ id })))[0]?.clicks === 3)
})
