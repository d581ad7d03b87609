/** "Test this link" on the link page, without a script. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { signedIn } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const browser = await signedIn(app, place.key)
const url = 'https://acme.com/'
const rules = [
  { name: 'German', countries: ['DE', 'AT'], languages: ['de', 'de-CH'], url: 'https://acme.com/de' },
  { name: 'Phones', devices: ['mobile'], url: 'https://acme.com/phone' },
  { name: 'Ad', query: { ref: '1' }, url: 'https://acme.com/ad' },
  { name: 'Winter', from: '2026-12-01T00:00:00Z', until: '2027-03-01T00:00:00Z', url: 'https://acme.com/winter' },
]
const link = await place.link({ url, rules })

/** Opens the link page, and returns its section "Test this link". */
async function tested({ id }: Json, query?: Readonly<Record<string, string>>) {
  const page = await browser.open(`/app/links/${id}${query === undefined ? '' : `?${new URLSearchParams(query)}`}`)
  const [section] = allOf(page.root, 'section', { id: 'test' })
  assert.ok(section)
  const texts = (name: string) => allOf(section, name).map((each) => textOf(each).replaceAll(/\s+/g, ' ').trim())
  const [result] = allOf(section, 'div', { class: 'test-result stack' })
  return {
    texts,
    labels: texts('label'),
    isOpen: allOf(section, 'details')[0]?.attributes.has('open'),
    result: result === undefined ? [] : allOf(result, 'p').map(textOf),
    chosen: allOf(section, 'option').flatMap((each) => (each.attributes.has('selected') ? textOf(each) : [])),
    href: result && allOf(result, 'a')[0]?.attributes.get('href'),
  }
}

test('shows what a visitor gets, the rule that decided, and crosses out conditions that failed', async () => {
  const before = await tested(link)
  assert.deepEqual([before.isOpen, before.result], [true, []])
  assert.deepEqual(
    before.labels,
    ['Country', 'Language', 'Device', 'Time(UTC)', 'Query of the visited URL'].map((each) => each.replace('(', ' (')),
  )
  const form = {
    country: 'DE',
    language: 'de-CH',
    device: 'iphone',
    at: '2026-12-24T20:00',
    query: 'ref=2',
    zone: 'UTC',
  }
  const after = await tested(link, form)
  assert.deepEqual(after.result, ['Redirects to https://acme.com/de (302).', 'Decided by rule 1, German.'])
  assert.equal(after.href, 'https://acme.com/de')
  assert.deepEqual(after.chosen, ['Germany', 'Swiss High German', 'iPhone'])
  const [first, ...others] = after.texts('li')
  assert.match(String(first), /^German: if the country is Germany or Austria and the language is /)
  assert.deepEqual(after.texts('strong'), [first])
  assert.match(String(others[0]), /^Phones: if the device is mobile, redirect to .*\(matches, but rule 1 decides\)$/)
  assert.match(String(others[1]), /^Ad: if the query has ref=1 \(doesn’t match\), redirect to /)
  assert.match(String(others[2]), /\(matches, but rule 1 decides\)$/)
  assert.deepEqual(after.texts('s'), ['the query has ref=1'])
})

for (const [device, expected] of Object.entries({
  windows: 'https://acme.com/',
  mac: 'https://acme.com/',
  iphone: 'https://acme.com/phone',
  android: 'https://acme.com/phone',
  ipad: 'https://acme.com/tablet',
  tv: 'https://acme.com/tv',
  bot: 'https://acme.com/',
  preview: 'https://acme.com/',
})) {
  test(`the sample visitor ${device} is recognized`, async () => {
    const of = (name: string, to: string) => ({ name, devices: [name], url: `https://acme.com/${to}` })
    const all = await place.link({ url, rules: [of('mobile', 'phone'), of('tablet', 'tablet'), of('tv', 'tv')] })
    const { href, result } = await tested(all, { device })
    assert.equal(href, expected)
    const isProgram = device === 'bot' || device === 'preview'
    assert.equal(result[1] === 'Bots and previews get the URL of the link.', isProgram)
  })
}

test('assumes the time in the zone of the form', async () => {
  const at = '2026-12-01T01:00'
  const winter = async (zone: string) => (await tested(link, { device: 'mac', at, zone })).href
  assert.equal(await winter('UTC'), 'https://acme.com/winter')
  assert.equal(await winter('Asia/Tokyo'), 'https://acme.com/')
})

test('is collapsed for a link without rules, with only the controls that make a difference', async () => {
  const plain = await tested(await place.link({ url }))
  assert.deepEqual([plain.isOpen, plain.labels], [false, ['Device']])
  const timed = await place.link({ url, forward_query: true, active_period_end_at: '2026-01-01T00:00:00Z' })
  assert.deepEqual((await tested(timed)).labels, ['Device', 'Time (UTC)', 'Query of the visited URL'])
  const { isOpen, result, texts } = await tested(timed, {
    device: 'mac',
    at: '2025-01-01T00:00',
    zone: 'UTC',
    query: 'a=1',
  })
  assert.deepEqual([isOpen, result, texts('li')], [true, ['Redirects to https://acme.com/?a=1 (302).'], []])
  assert.deepEqual((await tested(timed, { device: 'mac' })).result, ['Says that the link has expired (410).'])
})

test('returns 422 with each error at its control', async () => {
  const query = new URLSearchParams({ country: 'XX', language: 'x'.repeat(2_049), device: 'x', at: 'soon' })
  const { status, page } = await browser.get(`/app/links/${link.id}?${query}`)
  assert.equal(status, 422)
  const errors = allOf(page.root, 'p', { class: 'error' }).map(textOf)
  assert.equal(errors.length, 3, errors.join())
  assert.deepEqual(allOf(page.root, 'div', { class: 'test-result stack' }), [])
  const repeated = await browser.get(`/app/links/${link.id}?device=mac&query=a&query=b`)
  assert.equal(repeated.status, 422)
})

test('keeps the period of the statistics', async () => {
  const { root } = await browser.open(`/app/links/${link.id}?period=7d`)
  const [section] = allOf(root, 'section', { id: 'test' })
  assert.ok(section)
  assert.equal(allOf(section, 'input', { name: 'period' })[0]?.attributes.get('value'), '7d')
})
