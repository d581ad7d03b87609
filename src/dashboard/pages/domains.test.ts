import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startDns } from '../../../test/dns-server.ts'
import { textsOf } from '../../../test/well-formed.ts'
import { fingerprintOf } from '../../instance/fingerprint.ts'
import { DomainChecks } from '../../reachability/checks.ts'
import type { Changes } from '../../storage/port.ts'
import { dnsSection } from './domains.ts'

const [ipv4, ipv6] = ['203.0.113.7', '2001:db8::7'] as const
const storage = {
  changesAfter: async (): Promise<Changes> => ({ position: { database: 'a', seq: 0, snapshot: '' }, changes: [] }),
}

/** Returns checks whose names all resolve to a local server, which responds like this instance. */
async function checksWith(t: TestContext, dns: Awaited<ReturnType<typeof startDns>>): Promise<DomainChecks> {
  const server = createServer((_, response) => void response.end(fingerprintOf('a'))).listen(0, 'localhost')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const shortUrl = (_: string, alias: string) => `http://localhost:${port}/${alias}`
  return new DomainChecks({ storage, shortUrl, dns, probe: { timeoutMs: 10_000, httpsPort: 443 } })
}

const named = (name: string) => ({
  id: 1,
  name,
  name_unicode: name,
  homepage_url: null,
  not_found_url: null,
  created_at: '',
  updated_at: '',
})

test('shows a CNAME if possible, otherwise the addresses of the public host, with copy buttons', async (t) => {
  const checks = await checksWith(
    t,
    await startDns(t, { 'links.acme.com': { A: [ipv4], AAAA: ['2001:db8:0:0:0:0:0:7'] } }),
  )
  const part = async (name: string, publicHost: string | null) =>
    dnsSection({ domain: named(name), publicHost, checks, isCheckRequested: true })
  assert.deepEqual(textsOf(await part('go.acme.com', 'links.acme.com'), 'code'), ['go.acme.com', 'links.acme.com'])
  const apex = await part('acme.com', 'links.acme.com')
  assert.deepEqual(textsOf(apex, 'code'), ['acme.com', ipv4, 'acme.com', ipv6])
  assert.match(apex.text, new RegExp(`data-copy="${ipv4}"`))
  for (const host of [null, 'localhost', 'unknown.acme.com']) {
    const { text } = await part('acme.com', host)
    assert.match(text, /add an A record for <code>acme\.com<\/code> with this server’s public IPv4 address/)
    assert.doesNotMatch(text, /data-copy/)
  }
  assert.match((await part('localhost', null)).text, /It needs no DNS records/)
})

test('renders known DNS records without waiting for the resolver', async (t) => {
  const checks = await checksWith(t, await startDns(t, { 'links.acme.com': { A: [ipv4] } }))
  const asked = { domain: named('acme.com'), publicHost: 'links.acme.com', checks, isCheckRequested: false }
  assert.match((await dnsSection(asked)).text, /this server’s public IPv4 address/)
  await checks.addressesOf('links.acme.com')
  assert.deepEqual(textsOf(await dnsSection(asked), 'code'), ['acme.com', ipv4])
})
