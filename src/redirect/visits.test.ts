/** The responses to visits, for links in memory. `test/contract/visitors.test.ts` tests visits with a real database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Answer } from '../../test/client.ts'
import { exchange } from '../../test/raw-socket.ts'
import { runs } from '../../test/runs.ts'
import { type LinkFields, person, startVisitors, type TestListener } from '../../test/visitors.ts'
import { hashPassword } from '../links/password.ts'

const longAgo = '1970-01-01T00:00:00.000Z'
const target = 'https://acme.com/summer'
const host = 'http://go.acme.com'
const redirect_password = await hashPassword('a')

/** Starts a redirect server with one domain, which has these links. */
function serving(...links: readonly LinkFields[]): Promise<TestListener> {
  return startVisitors({ 'go.acme.com': { links } })
}

function checkRedirect({ status, headers, text }: Answer, wanted: { status?: number; location: string }): void {
  assert.equal(status, wanted.status ?? 302)
  assert.equal(headers.location, wanted.location)
  const isPermanent = status === 301 || status === 308
  assert.equal(headers['cache-control'], isPermanent ? 'private, max-age=60' : 'no-store')
  assert.equal(headers['x-robots-tag'], 'noindex')
  assert.equal(headers['referrer-policy'], 'strict-origin-when-cross-origin')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.ok(text.length < 500 + 2 * wanted.location.length)
}

function checkPage({ status, headers, text }: Answer, wanted: number, title: string): void {
  assert.equal(status, wanted)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-robots-tag'], 'noindex')
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-[\w+/=]+'; /)
  assert.ok(text.includes(`<h1>${title}</h1>`), text)
  assert.doesNotMatch(text, /<script|http:\/\/(?!go\.acme)|<img|<link/)
  assert.ok(Buffer.byteLength(text) < 8_000)
}

for (const status of [301, 302, 307, 308] as const) {
  test(`returns a ${status} with its body and headers for a link with this status`, async () => {
    const { visit } = await serving({ alias: 'summer', url: 'https://acme.com/ä?a=1&b="2"', redirect_status: status })
    const location = 'https://acme.com/%C3%A4?a=1&b=%222%22'
    const answer = await visit(`${host}/Summer/?x=1`)
    checkRedirect(answer, { status, location })
    assert.match(answer.text, /<a href="https:\/\/acme\.com\/%C3%A4\?a=1&amp;b=%222%22">/)
    const head = await visit(`${host}/summer`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.headers.location, head.text], [status, location, ''])
    assert.equal(head.headers['content-length'], answer.headers['content-length'])
  })
}

test('counts redirects of people as clicks, but not HEAD, bots, previews and prefetches', async () => {
  const { visit, clicks, counts } = await serving(
    { alias: 'a', url: target },
    { alias: 'gone', url: target, active_period_end_at: longAgo },
  )
  await visit(`${host}/a`)
  await visit(`${host}/a`, { method: 'HEAD' })
  await visit(`${host}/a`, { headers: { 'user-agent': 'curl/8.5.0' } })
  await visit(`${host}/a`, { headers: { 'sec-purpose': 'prefetch' } })
  await visit(`${host}/a`, { method: 'POST' })
  for (const path of ['a+', 'gone', 'unknown', '', 'robots.txt']) await visit(`${host}/${path}`)
  await visit('http://unknown.example/a')
  assert.deepEqual(clicks, [1])
  assert.deepEqual(counts, {
    ...{ redirect: 3, homepage: 0, not_found: 2, expired: 1, preview: 1, password: 0, robots: 1, favicon: 0 },
    ...{ app_links: 0, unknown_host: 1, loop: 0, prefetch: 1, method_not_allowed: 1 },
  })
})

test('shows the preview instead of a redirect whose location is longer than 16 KiB', async () => {
  const longest = `https://acme.com/${'a'.repeat(16_384 - 17)}`
  const { visit, port, clicks } = await serving(
    { alias: 'longest', url: longest },
    { alias: 'longer', url: `${longest}a` },
    { alias: 'limited', url: `${longest}a`, clicks_limit: 1, clicks: 1 },
  )
  // The client of Node rejects this head.
  const [answer] = await exchange(port, [`GET /longest HTTP/1.1\r\nHost: go.acme.com\r\nConnection: close\r\n\r\n`])
  assert.equal(answer?.headers.location, longest)
  const { status, text } = await visit(`${host}/longer`)
  assert.deepEqual([status, text.includes(`href="${longest}a"`)], [200, true])
  assert.equal((await visit(`${host}/limited`)).status, 410)
  assert.equal(clicks.length, 1)
})

test('returns the same 404 page for every request to an unknown host', async () => {
  const { visit, port } = await serving({ alias: 'a', url: target })
  const unknown = await visit('http://unknown.example/nothing')
  checkPage(unknown, 404, 'Link not found')
  for (const path of ['', 'a', 'a+', 'robots.txt', 'favicon.ico', '%ff']) {
    const { status, text } = await visit(`http://unknown.example/${path}`)
    assert.deepEqual([status, text], [404, unknown.text])
  }
  for (const method of ['POST', 'OPTIONS', 'DELETE']) {
    assert.equal((await visit('http://unknown.example/a', { method })).status, 404)
  }
  // HTTP/1.0 doesn't require a Host.
  for (const request of ['GET /a HTTP/1.0\r\n\r\n', 'GET /a HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n']) {
    const [answer] = await exchange(port, [request])
    assert.equal(answer?.status, 404)
  }
  assert.equal((await visit(`${host}/nothing`)).text, unknown.text)
})

test('ignores case, port and trailing dot of the Host, and prefers an absolute target', async () => {
  const { visit, port } = await startVisitors({
    'xn--bcher-kva.example': { links: [{ alias: 'a', url: target }] },
  })
  for (const name of [
    'xn--bcher-kva.example',
    'XN--Bcher-KVA.example.:3080',
    Buffer.from('Bücher.example').toString('latin1'),
  ]) {
    const [answer] = await exchange(port, [
      Buffer.from(`GET /a HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`, 'latin1'),
    ])
    assert.equal(answer?.status, 302, name)
  }
  assert.equal((await visit('http://user@xn--bcher-kva.example/a')).status, 404)
  const statusOf = async (line: string) => {
    const [answer] = await exchange(port, [
      `GET ${line} HTTP/1.1\r\nHost: unknown.example\r\nConnection: close\r\n\r\n`,
    ])
    return answer?.status
  }
  assert.equal(await statusOf('http://xn--bcher-kva.example:99/a'), 302)
  assert.equal(await statusOf('http://u:p@xn--bcher-kva.example/a'), 404)
  assert.equal(await statusOf('/a'), 404)
})

test('returns a 404 page without a word about links for the root of a domain without a homepage', async () => {
  const { visit } = await startVisitors({
    'go.acme.com': { links: [{ alias: 'a', url: target }] },
    'go.acme.org': { not_found_url: 'https://acme.com/lost' },
    'go.acme.net': { homepage_url: 'http://go.acme.net/' },
  })
  const root = await visit(`${host}/`)
  checkPage(root, 404, 'Short links')
  assert.match(root.text, /<p>This domain is for short links and has no homepage\.<\/p>\n<\/main>/)
  assert.doesNotMatch(root.text, /acme/)
  assert.equal((await visit(`${host}/?x=1`)).text, root.text)
  assert.equal((await visit('http://go.acme.net/')).text, root.text, 'a homepage that redirects to itself')
  const { status, body } = await visit(`${host}/`, { headers: { accept: 'application/json' } })
  const detail = 'This domain is for short links and has no homepage.'
  assert.deepEqual([status, body.code, body.detail], [404, 'not_found', detail])
  checkRedirect(await visit('http://go.acme.org/'), { location: 'https://acme.com/lost' })
})

test('returns a /robots.txt that allows everything, and an empty /favicon.ico', async () => {
  const { visit } = await serving()
  const robots = await visit(`${host}/robots.txt`)
  assert.deepEqual([robots.status, robots.text], [200, 'User-agent: *\nAllow: /\n'])
  assert.equal(robots.headers['content-type'], 'text/plain; charset=utf-8')
  const icon = await visit(`${host}/favicon.ico`)
  assert.deepEqual([icon.status, icon.text], [204, ''])
})

test('treats disabled and scheduled links as unknown, and includes the start of the period but not its end', async (t) => {
  const now = 1_800_000_000_000
  const time = (atMs: number) => new Date(atMs).toISOString()
  t.mock.timers.enable({ apis: ['Date'], now })
  const { visit } = await serving(
    { alias: 'disabled', url: target, disabled: true },
    { alias: 'over', url: target, disabled: true, active_period_end_at: time(now) },
    { alias: 'scheduled', url: target, active_period_start_at: time(now + 1) },
    { alias: 'started', url: target, active_period_start_at: time(now) },
    { alias: 'ending', url: target, active_period_end_at: time(now + 1) },
    { alias: 'ended', url: target, active_period_end_at: time(now) },
    { alias: 'used', url: target, active_period_start_at: time(now + 1), clicks_limit: 3, clicks: 3 },
  )
  const unknown = await visit(`${host}/unknown`)
  for (const path of ['disabled', 'disabled+', 'over', 'over+', 'scheduled', 'scheduled+']) {
    const { status, text } = await visit(`${host}/${path}`)
    assert.deepEqual([status, text], [404, unknown.text], path)
  }
  for (const path of ['started', 'ending']) assert.equal((await visit(`${host}/${path}`)).status, 302, path)
  for (const path of ['ended', 'used', 'used+']) checkPage(await visit(`${host}/${path}`), 410, 'This link has expired')
  checkPage(await visit(`${host}/ending+`), 200, 'Link preview')
})

test('responds to the preview of an expired link as to its alias', async () => {
  const expiration_url = 'https://acme.com/over'
  const links = [
    { alias: 'over', url: target, active_period_end_at: longAgo },
    { alias: 'used', url: target, clicks_limit: 3, clicks: 3 },
    { alias: 'moved', url: target, active_period_end_at: longAgo, expiration_url },
    { alias: 'secret', url: target, active_period_end_at: longAgo, redirect_password },
  ]
  const { visit, counts } = await startVisitors({
    'go.acme.com': { links },
    'go.acme.org': { links, not_found_url: 'https://acme.com/lost' },
  })
  for (const name of ['go.acme.com', 'go.acme.org']) {
    for (const { alias } of links) {
      const [own, preview] = [await visit(`http://${name}/${alias}`), await visit(`http://${name}/${alias}+`)]
      assert.deepEqual([preview.status, preview.text], [own.status, own.text], alias)
      assert.equal(preview.headers.location, own.headers.location)
    }
  }
  checkPage(await visit(`${host}/used+`), 410, 'This link has expired')
  checkRedirect(await visit(`${host}/moved+`), { location: expiration_url })
  assert.deepEqual([counts.preview, counts.expired], [0, 18])
})

test('returns 200 with the destination for a preview, unless the link has a password', async () => {
  const { visit, clicks } = await serving(
    { alias: 'Summer', url: 'https://acme.com/<ä>' },
    { alias: 'secret', url: target, redirect_password },
  )
  const answer = await visit(`${host}/summer+`)
  checkPage(answer, 200, 'Link preview')
  assert.match(answer.text, /<a href="https:\/\/acme\.com\/%3C%C3%A4%3E" rel="nofollow noreferrer">/)
  assert.match(answer.text, /https:\/\/go\.acme\.com\/Summer</)
  assert.equal((await visit(`${host}/secret+`)).status, 404)
  assert.deepEqual(clicks, [])
})

test('sends the preview page to bots, previews, HEAD and visits without a user agent for a link with a click limit', async () => {
  const links = [{ alias: 'few', url: target, clicks_limit: 2 }]
  const { visit, clicks } = await startVisitors({ 'go.acme.com': { links } }, { left: 1 })
  const headers = { 'user-agent': 'Slackbot-LinkExpanding 1.0' }
  checkPage(await visit(`${host}/few`, { headers }), 200, 'Link preview')
  assert.equal((await visit(`${host}/few`, { method: 'HEAD' })).status, 200)
  checkPage(await visit(`${host}/few`, { headers: { 'user-agent': '' } }), 200, 'Link preview')
  assert.equal((await visit(`${host}/few`)).status, 302)
  assert.equal((await visit(`${host}/few`)).status, 410)
  checkPage(await visit(`${host}/few+`), 410, 'This link has expired')
  assert.deepEqual(clicks, [], 'a limit counts its clicks')
})

test('counts a visit over HTTPS without the headers of its browser as a bot, which uses no click of a limit', async () => {
  const links = [
    { alias: 'few', url: target, clicks_limit: 2 },
    { alias: 'many', url: target },
  ]
  const { visit, clicks } = await startVisitors({ 'go.acme.com': { links } }, { left: 2, trustProxy: 1 })
  const https = { 'x-forwarded-proto': 'https', accept: 'text/html', 'accept-language': 'de' }
  const fetched = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  checkPage(await visit(`${host}/few`, { headers: https }), 200, 'Link preview')
  assert.equal((await visit(`${host}/many`, { headers: https })).status, 302)
  assert.deepEqual(clicks, [], 'a bot')
  assert.equal((await visit(`${host}/few`, { headers: { ...https, ...fetched } })).status, 302)
  assert.equal((await visit(`${host}/few`, { headers: { ...https, 'x-forwarded-proto': 'http' } })).status, 302)
  assert.equal((await visit(`${host}/many`, { headers: { ...https, ...fetched } })).status, 302)
  assert.deepEqual(clicks, [2])
})

test('returns 405 with Allow for other methods, and accepts POST only for a password', async () => {
  const { visit } = await serving({ alias: 'a', url: target }, { alias: 'p', url: target, redirect_password })
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND']) {
    const { status, headers } = await visit(`${host}/a`, { method })
    assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], method)
  }
  const { status, headers, text } = await visit(`${host}/p`, { method: 'OPTIONS' })
  assert.deepEqual([status, headers.allow], [405, 'GET, HEAD, POST'])
  assert.match(text, /This URL does not support OPTIONS\. It supports GET, HEAD, POST\./)
})

test('returns an empty 503 for prefetches, without counting clicks or failures', async () => {
  const { visit, clicks, logs } = await serving({ alias: 'a', url: target })
  const ahead = [
    ...['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip'].map((value) => ({ 'sec-purpose': value })),
    ...[{ purpose: 'prefetch' }, { 'x-purpose': 'preview' }, { 'x-moz': 'prefetch' }],
  ]
  for (const headers of ahead) {
    const answer = await visit(`${host}/a`, { headers: headers as Record<string, string> })
    assert.deepEqual([answer.status, answer.text, answer.headers['cache-control']], [503, '', 'no-store'])
  }
  assert.equal((await visit(`${host}/a`, { headers: { purpose: 'other' } })).status, 302)
  assert.deepEqual([clicks.length, logs.length], [1, 0])
})

test('redirects to mailto, tel and other schemes, and never links to an unsafe one', async () => {
  const { visit } = await serving(
    { alias: 'mail', url: 'mailto:ü@acme.com?subject=A', forward_query: true },
    { alias: 'tel', url: 'tel:+15550100', redirect_password },
    { alias: 'app', url: 'whatsapp://go.acme.com/app' },
    // No rule accepts it, but someone may have written it to the database.
    { alias: 'bad', url: 'javascript:alert(1)' },
  )
  checkRedirect(await visit(`${host}/mail?body=b`), { location: 'mailto:%C3%BC@acme.com?subject=A&body=b' })
  assert.match((await visit(`${host}/mail+`)).text, /<a href="mailto:%C3%BC@acme\.com\?subject=A"/)
  const form = { redirect_password: 'a' }
  checkRedirect(await visit(`${host}/tel`, { method: 'POST', form }), { status: 303, location: 'tel:+15550100' })
  const app = await visit(`${host}/app`)
  checkRedirect(app, { location: 'whatsapp://go.acme.com/app' })
  assert.match(app.text, /<a href="whatsapp:/)
  for (const path of ['bad', 'bad+']) assert.doesNotMatch((await visit(`${host}/${path}`)).text, /href="javascript/)
})

test('forwards the query of a visitor only if the link asks for it', async () => {
  const { visit } = await serving(
    { alias: 'on', url: 'https://acme.com/?a=1#top', forward_query: true },
    { alias: 'off', url: 'https://acme.com/?a=1#top' },
  )
  checkRedirect(await visit(`${host}/on?b=%zz&c`), { location: 'https://acme.com/?a=1&b=%zz&c#top' })
  checkRedirect(await visit(`${host}/on`), { location: 'https://acme.com/?a=1#top' })
  checkRedirect(await visit(`${host}/off?b=2`), { location: 'https://acme.com/?a=1#top' })
})

test('redirects only to the scheme, host, port and path of a stored URL', async () => {
  const { port } = await serving({ alias: 'on', url: 'https://acme.com:8443/path?a#b', forward_query: true })
  const path = fc.stringMatching(/^[!-"$-~]{0,30}$/)
  const names = fc.constantFrom(
    'go.acme.com',
    'GO.ACME.COM.:1',
    'evil.example',
    'go.acme.com@evil.example',
    '//go.acme.com',
  )
  const targets = fc.oneof(
    path.map((text) => `/on?${text}`),
    path.map((text) => `/${text}`),
    path.map((text) => `//evil.example/${text}`),
    fc.tuple(names, path).map(([name, text]) => `http://${name}/on?${text}`),
    path.map((text) => `/x/../on/..//${text}`),
  )
  await fc.assert(
    fc.asyncProperty(targets, names, async (line, name) => {
      const request = `GET ${line} HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: ${person}\r\nConnection: close\r\n\r\n`
      const [answer] = await exchange(port, [request])
      const { status = 0, headers = {} } = answer ?? {}
      assert.ok([302, 400, 404].includes(status), `${status} for ${request}`)
      if (status !== 302) return
      const { protocol, host: sentTo, pathname, username } = new URL(String(headers.location))
      assert.deepEqual([protocol, sentTo, pathname, username], ['https:', 'acme.com:8443', '/path', ''])
    }),
    { numRuns: runs(200, 80) },
  )
})

test('returns a problem object if Accept names JSON before HTML', async () => {
  const { visit } = await serving({ alias: 'ended', url: target, active_period_end_at: longAgo })
  for (const accept of ['application/json', 'application/problem+json, text/html', 'application/json;q=0.9, */*']) {
    const { status, headers, body } = await visit(`${host}/ended`, { headers: { accept } })
    assert.deepEqual([status, body.code], [410, 'link_expired'])
    assert.match(String(headers['content-type']), /^application\/(problem\+)?json; charset=utf-8$/)
    assert.deepEqual([headers.vary, headers['cache-control']], ['Accept', 'no-store'])
  }
  for (const accept of ['text/html,application/xhtml+xml,application/json', '*/*', 'image/png']) {
    const { headers } = await visit(`${host}/ended`, { headers: { accept } })
    assert.deepEqual([headers['content-type'], headers.vary], ['text/html; charset=utf-8', 'Accept'])
  }
})
