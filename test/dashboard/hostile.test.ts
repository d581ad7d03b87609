/**
 * Hostile words in all free-text fields: pages have the same elements and attributes as with plain words, and no other
 * links.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createAccount } from '../../src/accounts/store.ts'
import type { Value } from '../../src/analytics/day.ts'
import { createKey } from '../../src/keys/store.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { Browser, type Visited } from '../dashboard.ts'
import { addClicks, dayWith } from '../days.ts'
import { shapeOf } from '../html-page.ts'
import { fresh } from '../links-api.ts'
import { eventually } from '../processes.ts'
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
  const options = { account, name: words, scopes: ['*'], lifetimeMs: null } as const
  const { secret, key: record } = await createKey(app.storage, options)
  const send = (path: string, json: Json) => app.send('POST', `/api/v1${path}`, { key: secret, json })
  /** Drops fields whose rules reject the words. */
  const stored = async (path: string, json: Json, risky: Json): Promise<Json> => {
    const { status, body, text } = await send(path, { ...json, ...risky })
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
  const today = Math.floor(Date.now() / 86_400_000)
  await addClicks(app.storage, link.id, today, dayWith([{ hour: 0, kind: 'people', values }]))
  const browser = await new Browser(app).signIn(secret)
  return { browser, secret, link, domain, space, key: record }
}

type Furnished = Awaited<ReturnType<typeof furnished>>

/** Returns the responses of all pages that show the words. */
async function* pagesOf(
  { browser, link, domain, space, key }: Furnished,
  words: string,
): AsyncGenerator<[string, Visited]> {
  const ofLink = `/app/links/${link.id}`
  const paths = [
    '/app',
    '/app/links',
    '/app/links/new',
    ofLink,
    `${ofLink}/delete`,
    `${ofLink}/delete-statistics`,
    '/app/domains',
  ]
  paths.push(`/app/domains/${domain.id}`, `/app/domains/${domain.id}/delete`, '/app/spaces', `/app/spaces/${space.id}`)
  paths.push(`${ofLink}/edit`, `/app/domains/${domain.id}/edit`, `/app/spaces/${space.id}/edit`)
  paths.push(`/app/spaces/${space.id}/delete`, '/app/keys', `/app/keys/${key.id}/revoke`, '/app/sessions', '/app/about')
  for (const path of paths) yield [path, await browser.get(path)]
  const asked = encodeURIComponent(words)
  for (const name of ['links', 'domains', 'spaces']) {
    // Makes the search find nothing.
    yield [`search ${name}`, await browser.get(`/app/${name}?search=zz${asked}zz`)]
    yield [`sort ${name}`, await browser.get(`/app/${name}?sort_by=${asked}`)]
    yield [`unknown ${name}`, await browser.get(`/app/${name}?zz${asked}=${asked}`)]
  }
  yield ['new', await browser.get(`/app/links/new?url=${asked}`)]
  yield ['period', await browser.get(`/app?period=zz${asked}`)]
  yield ['dates', await browser.get(`${ofLink}?from=zz${asked}&to=zz${asked}`)]
  yield ['nowhere', await browser.get(`/app/nowhere/${asked}`)]
  yield ['sign in', await new Browser(app).get(`/app/sign-in?next=${encodeURIComponent('/app/links?x=')}${asked}`)]
  yield* refusedOf(browser, { link, domain, space }, words)
}

/** Returns rejected forms, which show their input again. */
async function* refusedOf(
  browser: Browser,
  { link, domain, space }: Pick<Furnished, 'link' | 'domain' | 'space'>,
  words: string,
): AsyncGenerator<[string, Visited]> {
  const long = `${words}${'x'.repeat(300)}`
  const invalid = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, `no ${words}`]))
  const ofLink = {
    ...invalid('url clicks_limit expiration_url active_period_start_at active_period_end_at redirect_status'),
    alias: ` a b${words}`,
    title: long,
  }
  for (const [path, form] of [
    ['/app/links', ofLink],
    [`/app/links/${link.id}`, { ...ofLink, version: link.version ?? '' }],
    ['/app/domains', invalid('name homepage_url not_found_url')],
    [`/app/domains/${domain.id}`, invalid('homepage_url not_found_url')],
    ['/app/spaces', { name: long, color: words }],
    [`/app/spaces/${space.id}`, { name: long, color: words }],
    ['/app/spaces', { name: 'x', [`zz${words}`.replaceAll(/[[\]]/g, '')]: words }],
    ['/app/keys', { name: long, expires: words }],
    ['/app/links/selected', { what: words, 'row-1': words }],
    ['/app/links/selected', { what: 'delete', [`row-${link.id}`]: words, [`row-${words}`]: words }],
  ] as const) {
    yield [`POST ${path}`, await browser.post(path, form)]
  }
}

/** Returns the elements and attributes of each page. */
async function shapesOf(words: string): Promise<Map<string, string>> {
  const shapes = new Map<string, string>()
  for await (const [name, { status, page }] of pagesOf(await furnished(words), words)) {
    shapes.set(`${shapes.size} ${name.replaceAll(/\d+/g, 'n')}`, `${status} ${shapeOf(page.root)}`)
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
      { numRuns: runs(14, 7), examples: pieces.slice(0, 4).map((piece) => [piece]) },
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

test('visitor headers never become markup', async () => {
  const { secret, link, domain } = await furnished(plain)
  const headers = {
    referer: 'https://evil.example"><script>alert(1)</script>/',
    'user-agent': '<script>alert(1)</script> Mozilla/5.0 (X11; "><b>) Gecko/20100101 Firefox/140.0',
    'accept-language': '"><b>,de"><i>;q=0.9',
  }
  await app.visit(`http://${domain.name}/${link.alias}`, { headers })
  await app.visit(`http://${domain.name}/${link.alias}`, { headers: { ...headers, referer: 'https://<b>.example/' } })
  await eventually(async () => {
    const { meta } = (await app.send('GET', `/api/v1/stats?name=clicks&link_id=${link.id}`, { key: secret })).body
    return meta.clicks + meta.bots + meta.previews === 3
  })
  const browser = new Browser(app)
  browser.headers = { 'user-agent': headers['user-agent'] }
  await browser.signIn(secret)
  for (const path of ['/app', `/app/links/${link.id}`, '/app/sessions']) {
    assert.doesNotMatch((await browser.open(path)).text, /alert/)
  }
})

test('forged cookies do not change a page', async () => {
  const { browser } = await furnished(plain)
  const expected = shapeOf((await browser.open('/app/about')).root)
  const session = browser.cookies.get('waymark') ?? ''
  const value = hostile.map((words) => words.replaceAll(/[^\x21-\x7e]|;/g, ''))
  await fc.assert(
    fc.asyncProperty(
      value,
      fc.constantFrom('waymark_notice', 'waymark_scheme', 'x"><b>', '__Host-waymark'),
      async (words, name) => {
        browser.cookies.clear()
        browser.cookies.set(name, words)
        browser.cookies.set('waymark', session)
        assert.equal(shapeOf((await browser.open('/app/about')).root), expected)
        browser.cookies.set('waymark', words)
        assert.equal((await browser.get('/app/about')).status, 303)
      },
    ),
    { numRuns: runs(50, 20) },
  )
})
