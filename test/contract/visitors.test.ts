/** Every kind of visit, with a real database. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { databaseUnavailable } from '../../src/errors.ts'
import { hashPassword } from '../../src/links/password.ts'
import { type StartOptions, startApp, type TestApp } from '../app.ts'
import type { Answer } from '../client.ts'
import { failing } from '../failing-storage.ts'
import { clicksOf, deleteLink, type LinkColumns, newLink, setLink } from '../links.ts'
import { eventually } from '../processes.ts'

const host = 'http://go.acme.com'
const target = 'https://acme.com/summer'
const location = ({ headers }: Answer) => headers.location

/** Starts an app with a domain, which counts visitors immediately. */
async function serving(fields: Readonly<Record<string, string>> = {}, options: StartOptions = {}) {
  const app = await startApp(options)
  const domain = await storeDomain(app, { name: 'go.acme.com', ...fields })
  const link = async (alias: string, columns: Partial<LinkColumns> = {}) => {
    const id = await newLink(app.storage, { account: app.account, domain }, alias)
    await setLink(app.storage, id, { url: target, ...columns })
    return id
  }
  return { app, link }
}

async function storeDomain(app: TestApp, form: Readonly<Record<string, string>>): Promise<number> {
  const { body } = await app.send('POST', '/api/v1/domains', { form })
  await app.directory.domainsChanged()
  return body.data.id
}

async function clicks({ storage }: TestApp, id: number): Promise<number> {
  const [row] = await storage.execute(clicksOf({ id }))
  return row?.clicks ?? 0
}

test('404 for an unknown host; 302 to the homepage, and 404 without one', async () => {
  const { app } = await serving({ homepage_url: 'https://acme.com' })
  await storeDomain(app, { name: 'bare.example' })
  assert.equal((await app.visit('http://unknown.example/')).status, 404)
  assert.equal(location(await app.visit(`${host}/`)), 'https://acme.com/')
  assert.equal((await app.visit('http://bare.example/')).status, 404)
  assert.equal((await app.visit(`${host}/robots.txt`)).status, 200)
  assert.equal((await app.visit(`${host}/favicon.ico`)).status, 204)
})

test('200 at /.well-known/waymark with a text that only the domains and nodes of an instance share', async () => {
  const { app } = await serving({ homepage_url: 'https://acme.com' })
  const ask = (of: TestApp, name: string, method = 'GET') => of.visit(`http://${name}/.well-known/waymark`, { method })
  const told = await ask(app, 'go.acme.com')
  assert.deepEqual([told.status, told.headers['cache-control']], [200, 'no-store'])
  assert.equal(told.headers['content-type'], 'text/plain; charset=utf-8')
  assert.match(told.text, /^[\w-]{22}\n$/)
  const node = await startApp({ storage: () => app.storage })
  assert.equal((await app.send('POST', '/api/v1/domains', { form: { name: 'a.example' } })).status, 201)
  assert.equal((await ask(app, 'a.example')).text, told.text)
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
  assert.equal((await other.send('POST', '/api/v1/domains', { form: { name: 'go.acme.com' } })).status, 201)
  assert.notEqual((await ask(other, 'go.acme.com')).text, told.text)
  for (const path of ['.well-known', '.well-known/other', '.well-known/waymark/', '.well-known/waymark+'])
    assert.equal((await app.visit(`${host}/${path}`)).status, 404, path)
  assert.deepEqual(Object.fromEntries([...app.measured.visits.entries()].filter(([, number]) => number > 0)), {
    not_found: 4,
    unknown_host: 2,
  })
})

test('200 at /.well-known/waymark while the database is down, 503 if it has never responded', async () => {
  const down = databaseUnavailable(new Error('down'))
  let fault: unknown
  const { app } = await serving({}, { storage: failing(() => fault) })
  const told = await app.visit(`${host}/.well-known/waymark`)
  fault = down
  assert.equal((await app.visit(`${host}/.well-known/waymark`)).text, told.text)
  const never = await startApp({ storage: failing(() => down) })
  const { status, headers } = await never.visit(`${host}/.well-known/waymark`)
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
  fault = undefined
})

test('404 for all paths of the API, the documents and ops', async () => {
  const { app } = await serving()
  for (const path of [
    '/api/v1/domains',
    '/docs',
    '/openapi.json',
    '/health',
    '/metrics',
    '/tls/ask?domain=go.acme.com',
  ]) {
    assert.equal((await app.visit(host + path)).status, 404, path)
  }
})

test('302 to the URL of an active link in any case, and a human click', async () => {
  const { app, link } = await serving()
  const id = await link('Été')
  for (const path of ['/%C3%A9t%C3%A9', '/E%CC%81TE%CC%81/', '/%C3%89t%C3%A9?x']) {
    const answer = await app.visit(host + path)
    assert.deepEqual([answer.status, location(answer)], [302, target])
  }
  await app.visit(`${host}/%C3%A9t%C3%A9`, { method: 'HEAD' })
  await app.visit(`${host}/%C3%A9t%C3%A9`, { headers: { 'user-agent': 'curl/8.5.0' } })
  await eventually(async () => (await clicks(app, id)) === 3)
})

test('404 for an unknown, disabled or scheduled link, or 302 to the not-found URL of the domain', async () => {
  const later = new Date(Date.now() + 3_600_000).toISOString()
  for (const [fields, status] of [
    [{}, 404],
    [{ not_found_url: 'https://acme.com/lost' }, 302],
  ] as const) {
    const { app, link } = await serving(fields)
    await link('off', { disabled: 1 })
    await link('later', { active_period_start_at: later })
    for (const path of ['off', 'later', 'none', '%ff', 'off+', 'later+', 'none+', '']) {
      const answer = await app.visit(`${host}/${path}`)
      assert.deepEqual([answer.status, location(answer)], [status, fields.not_found_url], path)
    }
  }
})

test('302 from an expired link to its expiration URL or the URL of the domain, or 410', async () => {
  const { app, link } = await serving()
  const over = { active_period_end_at: '2020-01-01T00:00:00.000Z' }
  await link('plain', over)
  await link('own', { ...over, expiration_url: 'https://acme.com/over' })
  assert.equal((await app.visit(`${host}/plain`)).status, 410)
  assert.equal(location(await app.visit(`${host}/own`)), 'https://acme.com/over')
  const other = await serving({ not_found_url: 'https://acme.com/lost' })
  await other.link('plain', over)
  assert.equal(location(await other.app.visit(`${host}/plain`)), 'https://acme.com/lost')
})

test('302 for exactly as many concurrent visitors as a limit allows', async () => {
  const { app, link } = await serving()
  const id = await link('few', { clicks_limit: 3 })
  assert.match((await app.visit(`${host}/few`, { headers: { 'user-agent': 'curl/8.5.0' } })).text, /Destination/)
  const answers = await Promise.all(Array.from({ length: 12 }, () => app.visit(`${host}/few`)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [302, 302, 302, ...Array(9).fill(410)])
  assert.equal(await clicks(app, id), 3)
})

test('410 for the preview of a link once its last click is used, on every node', async () => {
  const { app, link } = await serving()
  const node = await startApp({ storage: () => app.storage })
  await node.directory.domainsChanged()
  await link('one', { clicks_limit: 1, title: 'Internal' })
  for (const each of [app, node]) {
    const { status, text } = await each.visit(`${host}/one+`)
    assert.deepEqual([status, text.includes(target), text.includes('Internal')], [200, true, false])
  }
  assert.equal((await app.visit(`${host}/one`)).status, 302)
  for (const each of [app, node]) {
    const { status, text } = await each.visit(`${host}/one+`)
    assert.deepEqual([status, text.includes(target)], [410, false])
  }
})

test('401 with a form for a link with a password, 303 and a click for the correct password', async () => {
  const { app, link } = await serving()
  const id = await link('secret', { redirect_password: await hashPassword('swordfish', 'test'), redirect_status: 301 })
  const asked = await app.visit(`${host}/secret`)
  assert.deepEqual([asked.status, asked.headers['www-authenticate']], [401, 'Form realm="link"'])
  assert.doesNotMatch(String(asked.headers['content-security-policy']), /form-action/)
  const post = (password: string) =>
    app.visit(`${host}/secret`, { method: 'POST', form: { redirect_password: password } })
  assert.equal((await post('sword')).status, 401)
  const right = await post('swordfish')
  assert.deepEqual([right.status, location(right), right.headers['cache-control']], [303, target, 'no-store'])
  assert.equal((await app.visit(`${host}/secret`)).status, 401)
  await eventually(async () => (await clicks(app, id)) === 1)
})

test('404 for a redirect loop, even through another domain, but not for another port', async () => {
  const { app, link } = await serving({ not_found_url: `${host}/nothing` })
  const other = await storeDomain(app, { name: 'localhost', homepage_url: `${host}/round` })
  await link('self', { url: 'https://GO.acme.com./SELF/?x=1#y' })
  await link('round', { url: 'http://localhost/' })
  await link('near', { url: 'http://localhost:3000/docs' })
  await link('once', { url: `${host}/fine` })
  await link('fine')
  await link('here', { url: `${host}:${app.visitPort}/here` })
  assert.ok(other > 0)
  for (const path of ['self', 'round', 'nothing']) assert.equal((await app.visit(`${host}/${path}`)).status, 404, path)
  assert.equal((await app.visit('http://localhost/')).status, 404)
  assert.equal((await app.visit(`${host}:${app.visitPort}/here`)).status, 404)
  for (const path of ['near', 'once', 'unknown']) assert.equal((await app.visit(`${host}/${path}`)).status, 302, path)
})

test('applies edits and deletions within a second', async () => {
  const { app, link } = await serving()
  const id = await link('a')
  assert.equal(location(await app.visit(`${host}/a`)), target)
  await setLink(app.storage, id, { url: 'https://acme.com/new' })
  await eventually(async () => location(await app.visit(`${host}/a`)) === 'https://acme.com/new')
  await app.storage.execute(deleteLink({ id }))
  await eventually(async () => (await app.visit(`${host}/a`)).status === 404)
})

test('redirects from memory while the database is down, 503 with Retry-After for other links', async () => {
  let fault: unknown
  const { app, link } = await serving({ homepage_url: 'https://acme.com' }, { storage: failing(() => fault) })
  await link('known')
  await link('unknown')
  await app.visit(`${host}/known`)
  fault = databaseUnavailable(new Error('down'))
  assert.equal((await app.visit(`${host}/known`)).status, 302)
  assert.equal((await app.visit(host)).status, 302)
  const { status, headers, text } = await app.visit(`${host}/unknown`)
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
  assert.match(text, /<h1>Database unavailable<\/h1>/)
  // Failures of the server are logged without the alias and the visitor.
  const line = app.logs.find(({ code, msg }) => msg === 'request' && code === 'database_unavailable') ?? {}
  assert.deepEqual([line.route, line.status], ['/{alias}', 503])
  assert.doesNotMatch(JSON.stringify(line), /unknown|Firefox|127\.0\.0\.1/)
  fault = undefined
  assert.equal((await app.visit(`${host}/unknown`)).status, 302)
})

test('404 for a password form if the link is deleted while the form is sent', async (t) => {
  const { app } = await serving()
  const form = { url: target, alias: 'secret', redirect_password: 'swordfish' }
  const { id } = (await app.send('POST', '/api/v1/links', { form })).body.data
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

test('200 at /tls/ask for a stored domain in any case, 404 for another, even while the database is down', async () => {
  let fault: unknown
  const { app } = await serving({}, { storage: failing(() => fault) })
  const ask = async (domain: string) => {
    const response = await fetch(`http://127.0.0.1:${app.opsPort}/tls/ask?domain=${encodeURIComponent(domain)}`)
    return response.status
  }
  for (const down of [undefined, databaseUnavailable(new Error('down'))]) {
    fault = down
    assert.equal(await ask('go.acme.com'), 200)
    assert.equal(await ask('GO.acme.com'), 200)
    for (const other of ['acme.com', 'x.go.acme.com', '', 'go.acme.com/1']) assert.equal(await ask(other), 404)
  }
  fault = undefined
})
