/** Visits with a real database. `src/redirect/visits.test.ts` tests their responses in detail. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { databaseUnavailable } from '../../src/errors.ts'
import { startApp, type TestApp } from '../app.ts'
import type { Answer, Json } from '../client.ts'
import { failing } from '../failing-storage.ts'
import { clicksOf, setLink } from '../links.ts'
import { eventually } from '../processes.ts'

let fault: unknown
const app = await startApp({ storage: failing(() => fault) })
const host = 'http://go.acme.com'
const target = 'https://acme.com/summer'
const location = ({ headers }: Answer) => headers.location

const lost = 'https://acme.com/lost'
const { id: domain } = await app.stored('/domains', { name: 'go.acme.com', homepage_url: 'https://acme.com' })
const { id: lostDomain } = await app.stored('/domains', { name: 'lost.acme.com', not_found_url: lost })
const link = (alias: string, json: Json = {}) =>
  app.stored('/links', { domain_id: domain, url: target, alias, ...json })

async function clicks(id: number): Promise<number> {
  const [row] = await app.storage.execute(clicksOf({ id }))
  return row?.clicks ?? 0
}

/** Runs the work while the database is down. */
async function whileDown(work: () => Promise<void>): Promise<void> {
  fault = databaseUnavailable(new Error('down'))
  await work().finally(() => {
    fault = undefined
  })
}

test('200 at /.well-known/waymark with a text that only the domains and nodes of an instance share', async () => {
  const ask = (of: TestApp, name: string, method = 'GET') => of.visit(`http://${name}/.well-known/waymark`, { method })
  const told = await ask(app, 'go.acme.com')
  assert.deepEqual([told.status, told.headers['cache-control']], [200, 'no-store'])
  assert.equal(told.headers['content-type'], 'text/plain; charset=utf-8')
  assert.match(told.text, /^[\w-]{22}\n$/)
  const node = await startApp({ storage: () => app.storage })
  assert.equal((await ask(app, 'lost.acme.com')).text, told.text)
  assert.equal((await ask(node, 'go.acme.com')).text, told.text)
  for (const name of ['unknown.example', '127.0.0.1']) {
    const { status, text } = await ask(app, name)
    assert.deepEqual([status, text.includes(told.text.trim())], [404, false], name)
  }
  const head = await ask(app, 'go.acme.com', 'HEAD')
  assert.deepEqual([head.status, head.text], [200, ''])
  const posted = await ask(app, 'go.acme.com', 'POST')
  assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD'])
  // The databases of PostgreSQL are copies of one.
  const other = await startApp({ engine: 'sqlite' })
  await other.stored('/domains', { name: 'go.acme.com' })
  assert.notEqual((await ask(other, 'go.acme.com')).text, told.text)
  for (const path of ['.well-known', '.well-known/other', '.well-known/waymark/', '.well-known/waymark+'])
    assert.equal((await app.visit(`${host}/${path}`)).status, 404, path)
  const counted = Object.entries(app.measured.visits).filter(([, number]) => number > 0)
  assert.deepEqual(Object.fromEntries(counted), { not_found: 4, unknown_host: 2 })
  await whileDown(async () => assert.equal((await ask(app, 'go.acme.com')).text, told.text))
  const never = await startApp({ storage: failing(() => databaseUnavailable(new Error('down'))) })
  const { status, headers } = await ask(never, 'go.acme.com')
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
})

test('404 for an unknown host and for all paths of the API, the documents and ops', async () => {
  assert.equal((await app.visit('http://unknown.example/')).status, 404)
  const paths = ['api/v1/domains', 'docs', 'openapi.json', 'health', 'metrics', 'tls/ask?domain=go.acme.com']
  for (const path of paths) assert.equal((await app.visit(`${host}/${path}`)).status, 404, path)
})

test('302 to the URL of an active link in any case, and a human click; 302 to the homepage', async () => {
  const { id } = await link('Été')
  for (const path of ['/%C3%A9t%C3%A9', '/E%CC%81TE%CC%81/', '/%C3%89t%C3%A9?x']) {
    const answer = await app.visit(host + path)
    assert.deepEqual([answer.status, location(answer)], [302, target])
  }
  await app.visit(`${host}/%C3%A9t%C3%A9`, { method: 'HEAD' })
  await app.visit(`${host}/%C3%A9t%C3%A9`, { headers: { 'user-agent': 'curl/8.5.0' } })
  await eventually(async () => (await clicks(id)) === 3)
  assert.equal(location(await app.visit(host)), 'https://acme.com/')
})

test('302 for a path with noise around an alias, after one more lookup; an exact match wins', async () => {
  const name = 'noise.acme.com'
  const { id: domain_id } = await app.stored('/domains', { name, homepage_url: 'https://acme.com' })
  await link('leaf', { domain_id })
  await link('leaf.', { domain_id, url: 'https://acme.com/dot' })
  await link('a/b', { domain_id, redirect_password: 'swordfish' })
  await link('again', { domain_id, url: `http://${name}/again.` })
  const meter = app.directory.meters.find((each) => each.name === 'missed_lookups_total')
  const lookups = () => (typeof meter?.value === 'function' ? meter.value() : Number.NaN)
  const visit = async (path: string) => {
    const before = lookups()
    const answer = await app.visit(`http://${name}${path}`)
    return [answer.status, location(answer), lookups() - before]
  }
  // A later poll would remove the stored links from memory.
  await app.directory.refresh()
  await visit('/leaf')
  const around = ['/leaf)', '/leaf"', '/leaf%20', '/leaf%C2%A0', '/leaf%E2%80%8B', '/%E2%80%8Bleaf', '/%3Cleaf%3E']
  for (const path of [...around, '//leaf', '/leaf//', '/(LEAF),', '/leaf..', '/leaf)?x=1']) {
    const [status, to, reads] = await visit(path)
    assert.deepEqual([status, to], [302, target], path)
    assert.ok(Number(reads) <= 1, path)
  }
  assert.deepEqual((await visit('/leaf.')).slice(0, 2), [302, 'https://acme.com/dot'])
  for (const path of ['//', '///', '/%20', '/...']) assert.equal((await visit(path))[1], 'https://acme.com/', path)
  assert.deepEqual(await visit('/none'), [404, undefined, 1])
  assert.deepEqual(await visit('/none)'), [404, undefined, 1])
  assert.deepEqual(await visit('/(other)'), [404, undefined, 2])
  for (const path of ['/leaf)+', '/leaf+.', '/leaf+%22', '//leaf+/']) {
    assert.match((await app.visit(`http://${name}${path}`)).text, /Link preview/, path)
  }
  const head = await app.visit(`http://${name}/leaf%22`, { method: 'HEAD' })
  assert.deepEqual([head.status, location(head)], [302, target])
  assert.equal((await visit('//a//b.'))[0], 401)
  const form = { redirect_password: 'swordfish' }
  assert.equal((await app.visit(`http://${name}//a//b.`, { method: 'POST', form })).status, 303)
  for (const path of ['/again', '/again.', '/again..']) assert.equal((await visit(path))[0], 404, path)
})

test('302 for a path with typographic hyphens or invisible characters, after a third lookup', async () => {
  const name = 'typography.acme.com'
  const { id: domain_id } = await app.stored('/domains', { name })
  await link('summer-sale', { domain_id })
  await link('sale', { domain_id, url: 'https://acme.com/second' })
  await link('-sale', { domain_id })
  await link('👩‍💻-x', { domain_id })
  await link('locked-sale', { domain_id, redirect_password: 'swordfish' })
  const visit = (path: string, how = {}) =>
    app.visit(`http://${name}/${path.split('/').map(encodeURIComponent).join('/')}`, how)
  for (const hyphen of '\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63\uff0d')
    assert.equal(location(await visit(`summer${hyphen}sale`)), target, encodeURIComponent(hyphen))
  for (const unseen of '\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff')
    assert.equal(location(await visit(`sum${unseen}mer-sa${unseen}le`)), target, encodeURIComponent(unseen))
  for (const path of ['(SUMMER\u2011SALE).', '//summer\u2013sale/', 'summer\u2011sale\u200b', '👩‍💻\u2011x'])
    assert.equal(location(await visit(path)), target, path)
  assert.equal(location(await visit('\u2011sale')), 'https://acme.com/second', 'as noise')
  for (const path of ['summer\u2011sale+', 'summer\u2011sale+).'])
    assert.match((await app.visit(`http://${name}/${encodeURI(path)}`)).text, /Link preview/, path)
  const form = { redirect_password: 'swordfish' }
  assert.equal((await visit('locked\u2011sale', { method: 'POST', form })).status, 303)
  assert.equal((await visit('robots\u200b.txt')).status, 200)
  for (const path of ['summer\u2014sale', 'summer\u2011none']) assert.equal((await visit(path)).status, 404, path)
})

test('the stored state of a link decides between its URL, its expiration URL, the URL of the domain, 404 and 410', async () => {
  const over = { active_period_end_at: '2020-01-01T00:00:00Z' }
  const expiration_url = 'https://acme.com/over'
  for (const [alias, json, status, to] of [
    ['off', { disabled: true }, 404, lost],
    ['later', { active_period_start_at: '2200-01-01T00:00:00Z' }, 404, lost],
    ['over', over, 410, lost],
    ['moved', { ...over, expiration_url }, 302, expiration_url],
  ] as const) {
    await link(alias, json)
    await link(alias, { ...json, domain_id: lostDomain })
    for (const path of status === 404 ? [alias, `${alias}+`] : [alias]) {
      const [own, elsewhere] = [await app.visit(`${host}/${path}`), await app.visit(`http://lost.acme.com/${path}`)]
      assert.deepEqual([own.status, elsewhere.status, location(elsewhere)], [status, 302, to], path)
    }
  }
  for (const path of ['none', 'none+', '%ff', '%00', '']) {
    assert.equal((await app.visit(`${host}/${path}`)).status, path === '' ? 302 : 404, path)
    assert.equal(location(await app.visit(`http://lost.acme.com/${path}`)), lost, path)
  }
})

test('302 for exactly as many concurrent visitors as a limit allows', async () => {
  const { id } = await link('few', { clicks_limit: 3 })
  assert.match((await app.visit(`${host}/few`, { headers: { 'user-agent': 'curl/8.5.0' } })).text, /Destination/)
  const answers = await Promise.all(Array.from({ length: 12 }, () => app.visit(`${host}/few`)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [302, 302, 302, ...Array(9).fill(410)])
  assert.equal(await clicks(id), 3)
})

test('410 for the preview of a link once its last click is used, on every node', async () => {
  await link('one', { clicks_limit: 1, title: 'Internal' })
  const nodes = [app, await startApp({ storage: () => app.storage })]
  for (const each of nodes) {
    const { status, text } = await each.visit(`${host}/one+`)
    assert.deepEqual([status, text.includes(target), text.includes('Internal')], [200, true, false])
  }
  assert.equal((await app.visit(`${host}/one`)).status, 302)
  for (const each of nodes) {
    const { status, text } = await each.visit(`${host}/one+`)
    assert.deepEqual([status, text.includes(target)], [410, false])
  }
})

test('401 with a form for a link with a password, 303 and a click for the correct password, 404 once it is deleted', async (t) => {
  const { id } = await link('secret', { redirect_password: 'swordfish', redirect_status: 301 })
  const asked = await app.visit(`${host}/secret`)
  assert.deepEqual([asked.status, asked.headers['www-authenticate']], [401, 'Form realm="link"'])
  assert.doesNotMatch(String(asked.headers['content-security-policy']), /form-action/)
  const post = (password: string) =>
    app.visit(`${host}/secret`, { method: 'POST', form: { redirect_password: password } })
  assert.equal((await post('sword')).status, 401)
  const right = await post('swordfish')
  assert.deepEqual([right.status, location(right), right.headers['cache-control']], [303, target, 'no-store'])
  assert.equal((await app.visit(`${host}/secret`)).status, 401)
  await eventually(async () => (await clicks(id)) === 1)

  const client = connect(app.visitPort, '127.0.0.1')
  t.after(() => client.destroy())
  const body = 'redirect_password=swordfish'
  client.write(`POST /secret HTTP/1.1\r\nHost: go.acme.com\r\nConnection: close\r\nContent-Length: ${body.length}\r\n`)
  client.write('Content-Type: application/x-www-form-urlencoded\r\n\r\nredirect_')
  await eventually(() => app.measured.counts.underWay === 1)
  assert.equal((await app.send('DELETE', `/api/v1/links/${id}`)).status, 204)
  client.write(body.slice('redirect_'.length))
  assert.match(await text(client), /^HTTP\/1\.1 404 /)
})

test('404 for a redirect loop, even through another domain, but not for another port', async () => {
  const looping = { name: 'loop.acme.com', not_found_url: 'http://loop.acme.com/nothing' }
  const { id: domain_id } = await app.stored('/domains', looping)
  await app.stored('/domains', { name: 'localhost', homepage_url: 'http://loop.acme.com/round' })
  const at = 'http://loop.acme.com'
  await setLink(app.storage, (await link('self', { domain_id })).id, { url: 'https://LOOP.acme.com./SELF/?x=1#y' })
  for (const [alias, url] of [
    ['round', 'http://localhost/'],
    ['near', 'http://localhost:3000/docs'],
    ['once', `${at}/fine`],
    ['fine', target],
    ['here', `${at}:${app.visitPort}/here`],
  ] as const) {
    await link(alias, { domain_id, url })
  }
  for (const url of [`${at}/self`, `${at}/round`, `${at}/nothing`, 'http://localhost/', `${at}:${app.visitPort}/here`])
    assert.equal((await app.visit(url)).status, 404, url)
  for (const path of ['near', 'once', 'unknown']) assert.equal((await app.visit(`${at}/${path}`)).status, 302, path)
})

test('redirects from memory while the database is down, 503 with Retry-After for other links', async () => {
  await link('known')
  await link('unread')
  // Otherwise a poll after the visit might find the stored link, and remove it from memory.
  await app.directory.refresh()
  await app.visit(`${host}/known`)
  await whileDown(async () => {
    for (const path of ['known', '']) assert.equal((await app.visit(`${host}/${path}`)).status, 302)
    const { status, headers, text } = await app.visit(`${host}/unread`)
    assert.deepEqual([status, headers['retry-after']], [503, '1'])
    assert.match(text, /<h1>Database unavailable<\/h1>/)
  })
  // Failures of the server are logged without the alias and the visitor.
  const line = app.logs.find(({ code, msg }) => msg === 'request' && code === 'database_unavailable') ?? {}
  assert.deepEqual([line.route, line.status], ['/{alias}', 503])
  assert.doesNotMatch(JSON.stringify(line), /unread|Firefox|127\.0\.0\.1/)
  assert.equal((await app.visit(`${host}/unread`)).status, 302)
})

test('200 at /tls/ask for a stored domain in any spelling, 404 for another, even while the database is down', async () => {
  const check = async () => {
    for (const [name, status] of Object.entries({
      ...{ 'go.acme.com': 200, 'GO.acme.com': 200, 'go.acme.com.': 200, 'ｇｏ.acme.com': 200 },
      ...{ 'acme.com': 404, 'x.go.acme.com': 404, '': 404, '.': 404, 'go.acme.com..': 404 },
      ...{ 'go.acme.com/1': 404, 'go.acme.com:443': 404, '[::1]': 404, '127.0.0.1.': 404, '%': 404 },
    })) {
      const asked = await fetch(`http://127.0.0.1:${app.opsPort}/tls/ask?domain=${encodeURIComponent(name)}`)
      assert.equal(asked.status, status, name)
    }
  }
  await check()
  await whileDown(check)
})
