/**
 * Hostile words in all free-text fields: pages have the same elements and attributes as with plain words, and no other
 * links.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { systemActor } from '../../src/access/actor.ts'
import { today } from '../../src/accounts/calendar.ts'
import { createAccount } from '../../src/accounts/store.ts'
import type { Value } from '../../src/analytics/day.ts'
import { createKey } from '../../src/keys/store.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { Browser, signedInMember, type Visited } from '../dashboard.ts'
import { addClicks, dayWith } from '../days.ts'
import { shapeOf } from '../html-page.ts'
import { fresh } from '../links-api.ts'
import { runs } from '../runs.ts'

const app = await startApp()
const plain = 'Plain'

const markup = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '" autofocus onfocus="alert(1)',
  'javascript:alert(1)',
  'data:text/html,<b>',
]
const tags = '</title> </textarea> </option></select> </bdi></a> </svg> <!-- --> ]]> <![CDATA[ <? <% ＜b＞'.split(' ')
const escapes = `&lt;b&gt; &#60;b&#62; &quot; \${alert(1)} {{7*7}} \\u003c %3Cb%3E`.split(' ')
const characters = '&"\'`<>=/\\ \u202e\u2028\u00a0\u{1f600}ß\u0301'
const pieces = [...markup, ...tags, ...escapes, ...characters]
const hostile = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...pieces) }, fc.string({ unit: 'grapheme' })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join('').trim())
  .filter((text) => text.length > 2)

/** Returns an account with `words` in all fields that allow them, and its browser. */
async function furnished(words: string) {
  const { id: account } = await createAccount(app.storage, words)
  const options = { name: words, scopes: ['*'], lifetimeMs: null } as const
  const { secret, key } = await createKey(app.storage, systemActor(account), options)
  /** Stores the record with each risky value that the rules of its field accept. */
  const stored = async (path: string, json: Json, risky: Json): Promise<Json> => {
    const form = { ...json, ...risky }
    const { status, body, text } = await app.send('POST', `/api/v1${path}`, { key: secret, json: form })
    if (status === 201) return body.data
    const refused = body.violations.map(({ field }: Json) => field)
    const accepted = Object.entries(risky).filter(([field]) => !refused.includes(field))
    assert.ok(accepted.length < Object.keys(risky).length, text)
    return stored(path, json, Object.fromEntries(accepted))
  }
  const url = 'https://acme.com/'
  const target = `${url}${encodeURI(words)}?q=${words.replaceAll(/\s/g, '')}`
  const named = { name: `${fresh('bücher')}.example`, homepage_url: url }
  const domain = await stored('/domains', named, { homepage_url: target })
  const space = await stored('/spaces', { name: plain }, { name: words })
  const link = await stored(
    '/links',
    { url, title: plain, alias: fresh('alias'), expiration_url: url, space_id: space.id },
    { url: target, title: words, expiration_url: target },
  )
  const dimensions = ['referrers', 'browsers', 'operating_systems', 'devices', 'languages', 'countries']
  const values: Record<string, Value> = Object.fromEntries(dimensions.map((name) => [name, words]))
  await addClicks(app.storage, link.id, today(), dayWith([{ hour: 0, kind: 'people', values }]))
  const browser = await signedInMember(app, { account, name: words })
  // The server stores this within a minute, maybe between two pages.
  await app.storage.execute(query.updateTable('keys').set({ last_used_at: key.created_at }).where('id', '=', key.id))
  return { browser, secret, link, domain, space, key }
}

type Furnished = Awaited<ReturnType<typeof furnished>>

const ofIds = /^\/app\/(?:links|domains|spaces|keys)\/:id(?:\/edit|\/delete|\/delete-statistics|\/revoke)?$/
const templates = app.router.declared
  .filter(
    ({ method, template }) =>
      method === 'GET' && (ofIds.test(template) || /^\/app(?:\/(?!sessions)[a-z]+)?$/.test(template)),
  )
  .map(({ template }) => template)

/** Returns the responses of all pages that show the words. Rejected forms show their input again. */
async function* pagesOf({ browser, ...records }: Furnished, words: string): AsyncGenerator<[string, Visited]> {
  const { link, domain, space, key } = records
  const ids: Json = { links: link.id, domains: domain.id, spaces: space.id, keys: key.id }
  for (const template of templates)
    yield [template, await browser.get(template.replace(':id', ids[template.split('/')[2] ?? '']))]
  const asked = encodeURIComponent(words)
  for (const name of ['links', 'domains', 'spaces']) {
    // The search finds nothing.
    for (const asks of [`search=zz${asked}zz`, `sort_by=${asked}`, `zz${asked}=${asked}`])
      yield [`${name} ${asks.length}`, await browser.get(`/app/${name}?${asks}`)]
  }
  const dates = `from=zz${asked}&to=zz${asked}`
  for (const path of ['links/new?url=', '?period=zz', `links/${link.id}?${dates}`, 'nowhere/'])
    yield [path, await browser.get(`/app/${path}${asked}`.replace('/?', '?'))]
  yield ['sign in', await new Browser(app).get(`/app/sign-in?next=${encodeURIComponent('/app/links?x=')}${asked}`)]

  const long = `${words}${'x'.repeat(300)}`
  const invalid = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, `no ${words}`]))
  const dated = 'url clicks_limit expiration_url active_period_start_at active_period_end_at redirect_status'
  const ofLink = { ...invalid(dated), alias: ` a b${words}`, title: long }
  for (const [path, form] of [
    ['links', ofLink],
    [`links/${link.id}`, { ...ofLink, version: link.version ?? '' }],
    ['domains', invalid('name homepage_url not_found_url apple_app_site_association asset_links')],
    [`domains/${domain.id}`, invalid('homepage_url not_found_url apple_app_site_association asset_links')],
    ['spaces', { name: long, color: words }],
    [`spaces/${space.id}`, { name: long, color: words }],
    ['spaces', { name: 'x', [`zz${words}`.replaceAll(/[[\]]/g, '')]: words }],
    ['keys', { name: long, expires: words }],
    ['links/selected', { what: words, 'row-1': words }],
    ['links/selected', { what: 'delete', [`row-${link.id}`]: words, [`row-${words}`]: words }],
  ] as const) {
    yield [`POST ${path}`, await browser.post(`/app/${path}`, form)]
  }
}

/** Returns the elements and attributes of each page. */
async function shapesOf(words: string): Promise<Map<string, string>> {
  const shapes = new Map<string, string>()
  for await (const [name, { status, page }] of pagesOf(await furnished(words), words)) {
    shapes.set(`${shapes.size} ${name.replaceAll(/\d+.*/g, 'n')}`, `${status} ${shapeOf(page.root)}`)
  }
  return shapes
}

describe('a page with hostile words', () => {
  test('has the same elements as with plain words', async () => {
    const expected = await shapesOf(plain)
    await fc.assert(
      fc.asyncProperty(hostile, async (words) => {
        for (const [name, shape] of await shapesOf(words)) assert.equal(shape, expected.get(name), name)
      }),
      { numRuns: runs(14, 3), examples: [markup, tags, escapes].map((pieces) => [pieces.join('')]) },
    )
  })

  test('shows the words unchanged, and posts them unchanged', async () => {
    const words = `<b>"Größe" & 'more'</b> &lt; \${x} \`y\``
    const { browser, link, space } = await furnished(words)
    for (const path of ['/app/links', '/app/spaces', '/app/keys', '/app/about', `/app/links/${link.id}`]) {
      assert.ok((await browser.open(path)).text.includes(words), path)
    }
    assert.equal((await browser.open(`/app/links/${link.id}/edit`)).value('title'), words)
    assert.equal((await browser.open(`/app/spaces/${space.id}/edit`)).value('name'), words)
    assert.ok((await browser.open(`/app/spaces/${space.id}`)).title.startsWith(words))
  })
})

test('the user agent of a browser never becomes markup', async () => {
  const { secret } = await furnished(plain)
  const browser = new Browser(app)
  browser.headers = { 'user-agent': '<script>alert(1)</script> Mozilla/5.0 (X11; "><b>) Gecko/20100101 Firefox/140.0' }
  await browser.signIn(secret)
  assert.doesNotMatch((await browser.open('/app/profile')).text, /alert/)
})
