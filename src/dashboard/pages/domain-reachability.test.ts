import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textsOf } from '../../../test/well-formed.ts'
import { allScopes } from '../../access/actor.ts'
import type { DomainCheck } from '../../reachability/store.ts'
import { reachabilityBadge, reachabilitySection } from './domain-reachability.ts'

const [ipv4, ipv6] = ['203.0.113.7', '2001:db8::7'] as const
const checked_at = new Date(Date.now() - 2 * 60_000).toISOString()

function checked(answer: DomainCheck['answer'], ...addresses: string[]): DomainCheck {
  return { answer, addresses, files: {}, checked_at }
}

function section(name: string, changes: Partial<Parameters<typeof reachabilitySection>[0]> = {}) {
  const checks = { cachedAddresses: () => [], publicAddresses: () => [] }
  const domain = { id: 1, name, name_unicode: name }
  const unknown = {
    check: undefined,
    publicHost: null,
    reached: undefined,
    hasClicks: false,
    viewer: { scopes: allScopes },
  }
  return reachabilitySection({ domain, checks, ...unknown, ...changes })
}

/** Returns the texts of all names and addresses, whose labels have their own elements. */
function codesOf(page: ReturnType<typeof section>): string[] {
  return [...page.text.matchAll(/<code[^>]*>(.*?)<\/code>/g)].map(([, text = '']) => text.replaceAll(/<[^>]*>/g, ''))
}

const wordsOf = (page: ReturnType<typeof section>) => page.text.replaceAll(/<[^>]*>/g, '')

test('shows a CNAME if possible, otherwise the addresses of the public host, with copy buttons', () => {
  const checks = { cachedAddresses: () => [ipv4, ipv6], publicAddresses: () => ['198.51.100.1'] }
  const publicHost = 'links.acme.com'
  assert.deepEqual(codesOf(section('go.acme.com', { publicHost, checks })), ['go.acme.com', publicHost])
  const apex = section('acme.com', { publicHost, checks })
  assert.deepEqual(codesOf(apex), ['acme.com', ipv4, 'acme.com', ipv6])
  assert.match(apex.text, new RegExp(`data-copy="${ipv4}"`))
})

test('takes the addresses from another source without a public host, and names the source', () => {
  const checks = { cachedAddresses: () => [], publicAddresses: () => [ipv4] }
  const own = section('go.acme.com', { checks })
  assert.deepEqual(codesOf(own), ['go.acme.com', ipv4])
  assert.match(wordsOf(own), /This machine has this IP address\. If visitors come through a proxy/)
  const reached = { name_unicode: 'links.acme.com', addresses: ['198.51.100.1'] }
  const other = section('go.acme.com', { checks, reached })
  assert.deepEqual(codesOf(other), ['go.acme.com', '198.51.100.1'])
  assert.match(wordsOf(other), /links\.acme\.com reaches this server at this IP address\./)
  const here = section('go.acme.com', { checks, reached, check: checked('here', ipv6) })
  assert.deepEqual(codesOf(here), ['go.acme.com', ipv6])
})

test('explains how to find the address of the server if it is unknown', () => {
  for (const publicHost of [null, 'localhost', 'unknown.acme.com']) {
    const page = section('acme.com', { publicHost })
    assert.match(wordsOf(page), /add an A record for acme\.com with this server’s public IPv4 address/)
    assert.match(wordsOf(page), /Your hosting provider shows the address\./)
    assert.equal(/set BASE_URL/.test(wordsOf(page)), publicHost !== 'unknown.acme.com')
    assert.doesNotMatch(page.text, /data-copy/)
  }
})

test('collapses the DNS records into a line once visitors reach the server', () => {
  const page = section('go.acme.com', { publicHost: 'links.acme.com', check: checked('here', ipv4) })
  assert.match(page.text, /^<details class="reach success"/)
  assert.deepEqual(textsOf(page, 'summary'), ['Visitors reach this server at go.acme.com. Checked 2 minutes ago.'])
  assert.deepEqual(codesOf(page), ['go.acme.com', 'links.acme.com'])
})

test('shows the problem, the found addresses and the DNS records while the check fails', () => {
  for (const [answer, sentence] of [
    [
      'elsewhere',
      /points to another server.* The DNS returned 198\.51\.100\.1, 198\.51\.100\.2\. Checked 2 minutes ago/,
    ],
    ['no answer', /nothing responds there/],
    ['certificate error', /TLS certificate isn’t valid/],
    ['no DNS', /doesn’t resolve yet/],
  ] as const) {
    const page = section('go.acme.com', { hasClicks: true, check: checked(answer, '198.51.100.1', '198.51.100.2') })
    assert.match(page.text, /^<section id="dns"><h2>DNS<\/h2>/)
    assert.match(wordsOf(page), sentence)
    assert.match(wordsOf(page), /Check again/)
  }
})

test('shows the DNS records of an unchecked domain, in one line if it has clicks', () => {
  assert.match(section('go.acme.com').text, /^<section id="dns">.*Check domain/s)
  const [line] = textsOf(section('go.acme.com', { hasClicks: true }), 'summary')
  assert.equal(line, 'Waymark hasn’t checked yet whether visitors reach this server at go.acme.com.')
})

test('explains localhost, which has no DNS records', () => {
  const [line] = textsOf(section('localhost'), 'summary')
  assert.equal(line, 'Only this machine reaches localhost, because every machine uses this name for itself.')
  assert.match(wordsOf(section('localhost', { check: checked('no answer') })), /nothing responds there.*needs no DNS/s)
})

test('names the state of a domain in the list', () => {
  for (const [name, check, state] of [
    ['go.acme.com', undefined, 'Not checked'],
    ['go.acme.com', checked('here'), 'Reachable'],
    ['go.acme.com', checked('no DNS'), 'Not reachable'],
    ['localhost', undefined, 'This machine only'],
    ['localhost', checked('here'), 'This machine only'],
    ['localhost', checked('no answer'), 'Not reachable'],
  ] as const) {
    assert.equal(wordsOf(reachabilityBadge(name, check)), state)
  }
})
