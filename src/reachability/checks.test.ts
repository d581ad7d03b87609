import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { LookupFunction } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { stopMonotonicClock } from '../../test/clock.ts'
import { startDns } from '../../test/dns-server.ts'
import { failing } from '../../test/failing-storage.ts'
import { eventually, freePort } from '../../test/processes.ts'
import { listenOn } from '../../test/servers.ts'
import { databaseUnavailable } from '../errors.ts'
import { shortUrls } from '../names/short-url.ts'
import type { Changes } from '../storage/port.ts'
import { type CheckOptions, DomainChecks } from './checks.ts'

const address = '203.0.113.7'
const patient = { timeoutMs: 10_000, httpsPort: 443 }

/** The storage of another instance. */
const storage = {
  changesAfter: async (): Promise<Changes> => ({ position: { database: 'a', seq: 0, snapshot: '' }, changes: [] }),
}

/** Checks names that all resolve to this port of this machine. */
function checksAt(port: number, options: Partial<CheckOptions>): DomainChecks {
  const { shortUrl = (_, alias) => `http://localhost:${port}/${alias}`, ...rest } = options
  return new DomainChecks({ storage, probe: patient, ...rest, shortUrl })
}

/** A server whose responses the test sends. */
const serve = (t: TestContext, answer: (response: ServerResponse) => void) =>
  listenOn(
    t,
    createServer((_, response) => answer(response)),
    'localhost',
  )

test('returns "here" with the DNS records, and "elsewhere" for another instance', async (t) => {
  const [app, other] = [await startApp(), await startApp()]
  assert.equal((await app.send('POST', '/api/v1/domains', { form: { name: 'localhost' } })).status, 201)
  const shortUrl = (_: string, alias: string) => `http://localhost:${app.visitPort}/${alias}`
  const records = [{ type: 'A', name: 'go.test', value: address }]
  const known = await startDns(t, { 'go.test': { A: [address] } })
  const checks = new DomainChecks({ storage: app.storage, shortUrl, dns: known, probe: patient })
  assert.deepEqual(await checks.check('go.test', 'any', {}), { records, answer: 'here', files: {} })
  const unknown = await startDns(t, {})
  const again = new DomainChecks({ storage: app.storage, shortUrl, dns: unknown, probe: patient })
  assert.deepEqual(await again.check('go.test', 'any', {}), { records: 'no records', answer: 'here', files: {} })
  const mistaken = new DomainChecks({ storage: other.storage, shortUrl, dns: known, probe: patient })
  assert.deepEqual(await mistaken.check('go.test', 'any', {}), { records, answer: 'elsewhere', files: {} })
  assert.equal(app.measured.visits.not_found, 0)
})

test('checks localhost without the DNS', async (t) => {
  const dns = await startDns(t, { localhost: { A: [address] } })
  const port = await serve(t, (response) => void response.end('another'))
  assert.deepEqual(await checksAt(port, { dns }).check('localhost', 'any', {}), {
    records: 'no records',
    answer: 'elsewhere',
    files: {},
  })
  assert.equal((await checksAt(await freePort(), { dns }).check('localhost', 'any', {})).answer, 'no answer')
})

test('returns the public IPv4 addresses of the network interfaces', () => {
  const [mac, netmask] = ['00:00:00:00:00:00', '255.255.255.0']
  const named = (address: string) => ({ address, netmask, family: 'IPv4', mac, internal: false, cidr: null }) as const
  const ipv6 = { ...named('2001:db8::7'), family: 'IPv6', scopeid: 0 } as const
  const interfaces = () => ({ lo: [named('127.0.0.1')], eth0: [named('10.0.0.7'), named(address), ipv6] })
  assert.deepEqual(checksAt(1, { interfaces }).publicAddresses(), [address])
})

test('returns "no DNS" if the name has no address, otherwise "no answer"', async (t) => {
  const silence = { A: 'silence', AAAA: 'silence', CNAME: 'silence' } as const
  const zones = { 'there.test': { A: [address] }, 'dangling.test': { CNAME: ['gone.test'] }, 'silent.test': silence }
  const dns = await startDns(t, zones)
  const checks = checksAt(await freePort(), { dns })
  const hurried = checksAt(await freePort(), { dns: { ...dns, timeoutMs: 50 } })
  const answers = [
    checks.check('gone.test', 'any', {}),
    checks.check('dangling.test', 'any', {}),
    checks.check('there.test', 'any', {}),
  ]
  const told = (await Promise.all([...answers, hurried.check('silent.test', 'any', {})])).map(({ answer }) => answer)
  assert.deepEqual(told, ['no DNS', 'no DNS', 'no answer', 'no answer'])
})

test('checks a name once in five seconds', async (t) => {
  const tick = stopMonotonicClock(t)
  let asked = 0
  const port = await serve(t, (response) => {
    asked += 1
    response.end('another')
  })
  const dns = await startDns(t, {})
  const checks = checksAt(port, { dns })
  const results = await Promise.all([
    checks.check('a.test', 'any', {}),
    checks.check('a.test', 'any', {}),
    checks.check('b.test', 'any', {}),
  ])
  assert.equal(asked, 2)
  assert.equal(results[0], results[1])
  tick(4_999)
  assert.equal(await checks.check('a.test', 'any', {}), results[0])
  tick(1)
  assert.equal((await checks.check('a.test', 'any', {})).answer, 'elsewhere')
  assert.equal(asked, 3)
})

test('rejects with overloaded during too many checks, and shares active checks', async (t) => {
  const waiting: ServerResponse[] = []
  const port = await serve(t, (response) => void waiting.push(response))
  const checks = checksAt(port, { dns: await startDns(t, {}), concurrency: 2 })
  const begun = ['a.test', 'b.test', 'a.test'].map((name) => checks.check(name, 'any', {}))
  await eventually(() => waiting.length === 2)
  await assert.rejects(checks.check('c.test', 'any', {}), { code: 'overloaded' })
  for (const response of waiting) response.end()
  assert.deepEqual(
    (await Promise.all(begun)).map(({ answer }) => answer),
    ['elsewhere', 'elsewhere', 'elsewhere'],
  )
  const last = checks.check('c.test', 'any', {})
  await eventually(() => waiting.length === 3)
  waiting[2]?.end()
  assert.equal((await last).answer, 'elsewhere')
})

test('skips the system resolver if the DNS is silent', async (t) => {
  const silence = { A: 'silence', AAAA: 'silence', CNAME: 'silence' } as const
  const dns = { ...(await startDns(t, { 'silent.test': silence })), timeoutMs: 50 }
  const lookup = t.mock.fn<LookupFunction>()
  const checks = checksAt(await freePort(), { dns, probe: { ...patient, lookup } })
  assert.equal((await checks.check('silent.test', 'any', {})).answer, 'no answer')
  assert.equal(lookup.mock.callCount(), 0)
})

test('skips address families without records', async (t) => {
  const [A, AAAA] = [[address], ['2001:db8:0:0:0:0:0:7']]
  const zones = { 'a.test': { A, AAAA: 'silence' }, 'b.test': { AAAA }, 'c.test': { A, AAAA } } as const
  const dns = { ...(await startDns(t, zones)), timeoutMs: 2_000 }
  const asked: unknown[] = []
  const lookup: LookupFunction = (host, { family }, callback) => {
    asked.push([host, family])
    callback(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }), [])
  }
  const checks = checksAt(await freePort(), {
    dns,
    probe: { ...patient, lookup },
    shortUrl: (domain, alias) => `http://${domain}/${alias}`,
  })
  for (const name of Object.keys(zones)) await checks.check(name, 'any', {})
  assert.deepEqual(asked, [
    ['a.test', 4],
    ['b.test', 6],
    ['c.test', 0],
  ])
})

test('counts lookups that outlive their checks', async (t) => {
  const going: (() => void)[] = []
  const lookup: LookupFunction = (_host, _options, callback) => {
    going.push(() => callback(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }), []))
  }
  const hurried = { timeoutMs: 50, httpsPort: 443, lookup }
  const checks = checksAt(await freePort(), { dns: await startDns(t, {}), concurrency: 2, probe: hurried })
  const told = await Promise.all(['a.test', 'b.test'].map((name) => checks.check(name, 'any', {})))
  assert.deepEqual(
    told.map(({ answer }) => answer),
    ['no DNS', 'no DNS'],
  )
  await assert.rejects(checks.check('c.test', 'any', {}), { code: 'overloaded' })
  for (const end of going) end()
  assert.equal((await checks.check('c.test', 'any', {})).answer, 'no DNS')
})

test('rejects without the database, and does not cache the error', async (t) => {
  let fault: unknown = databaseUnavailable(new Error('down'))
  const app = await startApp()
  assert.equal((await app.send('POST', '/api/v1/domains', { form: { name: 'localhost' } })).status, 201)
  const shortUrl = shortUrls(`http://{domain}:${app.visitPort}`)
  const dns = await startDns(t, {})
  const checks = new DomainChecks({ storage: failing(() => fault)(app.storage), shortUrl, dns })
  await assert.rejects(checks.check('localhost', 'any', {}), { code: 'database_unavailable' })
  fault = undefined
  assert.equal((await checks.check('localhost', 'any', {})).answer, 'here')
})

test('looks up public hosts once a minute, with limited concurrency', async (t) => {
  const dns = await startDns(t, {
    'links.acme.com': { A: [address], CNAME: ['a.acme.com'] },
    'silent.acme.com': { A: 'silence' },
  })
  const tick = stopMonotonicClock(t)
  const checks = checksAt(9, { dns, concurrency: 1 })
  assert.deepEqual(await checks.lookUpAddresses('links.acme.com'), [address])
  const again = { ...dns, servers: ['127.0.0.1:1'] }
  assert.deepEqual(await checksAt(9, { dns: { ...again, timeoutMs: 100 } }).lookUpAddresses('links.acme.com'), [])
  tick(59_999)
  assert.equal(await checks.lookUpAddresses('links.acme.com'), await checks.lookUpAddresses('links.acme.com'))
  for (const host of ['localhost', '127.0.0.1', 'none.acme.com'])
    assert.deepEqual(await checks.lookUpAddresses(host), [])
  tick(1)
  assert.deepEqual(checks.cachedAddresses('links.acme.com'), [address], 'dropped during the refresh')
  const busy = checksAt(9, { dns, concurrency: 0 })
  assert.deepEqual(await busy.lookUpAddresses('links.acme.com'), [])
})

test('failed checks and lookups free their slots', async () => {
  const checks = checksAt(9, { dns: { timeoutMs: 100, servers: ['no address'] }, concurrency: 1 })
  for (const host of ['a.acme.com', 'b.acme.com']) {
    assert.deepEqual(await checks.lookUpAddresses(host), [])
    assert.deepEqual(checks.cachedAddresses(host), [])
    await assert.rejects(checks.check(host, 'any', {}), { code: 'ERR_INVALID_IP_ADDRESS' })
  }
})

test('sends no request to private addresses, and does not return them, in checks for the public network', async (t) => {
  let asked = 0
  const port = await serve(t, (response) => {
    asked += 1
    response.end('another')
  })
  const zones = { 'inner.test': { A: ['10.0.0.7'] }, 'mixed.test': { A: [address], AAAA: ['fd00:0:0:0:0:0:0:7'] } }
  const checks = checksAt(port, { dns: await startDns(t, { ...zones, 'outer.test': { A: [address] } }) })
  const unknown = { records: 'no records', answer: 'private address', files: {} }
  for (const name of ['inner.test', 'mixed.test', 'intranet', 'localhost', 'a.localhost', '127.0.0.1'])
    assert.deepEqual(await checks.check(name, 'public', {}), unknown, name)
  assert.equal((await checks.check('outer.test', 'public', {})).answer, 'no answer', 'the system resolves to loopback')
  assert.equal(asked, 0)
  assert.equal((await checks.check('inner.test', 'any', {})).answer, 'elsewhere')
  assert.equal(asked, 1)
})
