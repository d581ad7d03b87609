/** The campaign (UTM) parameters of destinations, and the form fields that write them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Campaign,
  campaignParameters,
  readCampaign,
  writeCampaign,
} from '../../src/dashboard/scripts/destination.js'
import { startApp } from '../app.ts'
import { newOwner } from '../dashboard.ts'
import { allOf } from '../html-page.ts'
import { runs } from '../runs.ts'

const app = await startApp()
const { browser, ...place } = await newOwner(app)

const none: Campaign = { utm_source: '', utm_medium: '', utm_campaign: '', utm_term: '', utm_content: '' }

test('reads the first value of each parameter', () => {
  const query = 'utm_source=a+b%20c&utm_medium=&utm%5Fterm=x=y&utm_campaign=100%&UTM_CONTENT=z&utm_source=second'
  const values = { ...none, utm_source: 'a b c', utm_term: 'x=y', utm_campaign: '100%' }
  assert.deepEqual(readCampaign(`https://acme.com/?${query}#?utm_content=no`), values)
})

test('writes values into a URL, and leaves the rest of it unchanged', () => {
  for (const [url, values, expected] of [
    ['https://acme.com', { utm_source: 'mail' }, 'https://acme.com?utm_source=mail'],
    ['https://acme.com/?', { utm_source: 'mail' }, 'https://acme.com/?utm_source=mail'],
    ['/?a=%41&&b#top?x', { utm_source: 'a b&c' }, '/?a=%41&&b&utm_source=a%20b%26c#top?x'],
    ['/?a=1&', { utm_term: 'x', utm_source: 'y' }, '/?a=1&utm_source=y&utm_term=x'],
    ['/?utm_source=old&a=1', { utm_source: 'new' }, '/?utm_source=new&a=1'],
    ['/?a&utm_source=1&b&utm_source=2', { utm_source: 'new' }, '/?a&utm_source=new&b'],
    ['/?a&utm_source=1&b&utm_source=2', { utm_source: '' }, '/?a&b'],
    ['/?utm_source=1#top', { utm_source: ' ' }, '/#top'],
    ['/?utm_source=a+b', { utm_source: 'a b ' }, '/?utm_source=a+b'],
    ['/?utm_source=%zz', { utm_source: '%zz' }, '/?utm_source=%zz'],
  ] as const) {
    assert.equal(writeCampaign(url, values), expected)
  }
})

const name = fc.constantFrom(...campaignParameters)
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('%', '%zz', 'a+b', 'a=b&c', '#?', ' x '))
const piece = fc.oneof(
  text.map(encodeURIComponent),
  fc.constantFrom('', '=', 'utm_source', '%', 'utm%5Fsource=1'),
  fc.tuple(fc.oneof(name, text), text).map(([name, value]) => `${name}=${value.replace(/[&#]/g, '')}`),
)
const url = fc
  .tuple(fc.array(piece), fc.constantFrom('', '?'), fc.constantFrom('', '#', '#a?utm_source=b&c'))
  .map(([pieces, question, fragment]) => `https://acme.com/a${question}${question && pieces.join('&')}${fragment}`)

test('reading returns the written values; writing them again changes no part of the URL', () => {
  const values = fc.dictionary(name, text) as fc.Arbitrary<Partial<Campaign>>
  fc.assert(
    fc.property(url, values, text, (url, values, other) => {
      for (const each of [url, other]) assert.equal(writeCampaign(each, readCampaign(each)), each)
      const written = writeCampaign(url, values)
      const shown = Object.entries(values).map(([name, value]) => [name, value.replace(/\p{Cc}/gu, '').trim()])
      assert.deepEqual(readCampaign(written), { ...readCampaign(url), ...Object.fromEntries(shown) })
      assert.deepEqual(othersIn(written), othersIn(url))
    }),
    { numRuns: runs(5_000) },
  )
})

/** Returns the URL without its campaign parameters, as a list. */
function othersIn(url: string): string[] {
  const [, start = '', query = '', fragment = ''] = /^([^?#]*)\??([^#]*)(.*)$/s.exec(url) ?? []
  const pieces = query.split('&').filter((piece) => !/^utm(?:_|%5F)\w+(?:=|$)/.test(piece))
  return [start, ...pieces.filter((piece) => piece !== ''), fragment]
}

test('writes campaign fields into the query, even if the form was rejected first', async () => {
  const page = await browser.open('/app/links/new')
  const typed = { url: '//acme.com/?a=1#top', utm_source: ' spring mail ', utm_medium: 'e&mail' }
  const rejected = await browser.submit(page, '/app/links', typed)
  assert.deepEqual([rejected.status, rejected.page.refused], [422, ['url']])
  assert.equal(rejected.page.value('utm_medium'), 'e&mail')
  const made = await browser.submit(rejected.page, '/app/links', { url: 'https://acme.com/?a=1#top ' })
  const path = String(made.headers.location)
  const { data } = (await place.send('GET', `/links/${path.split('/').at(-1)}`)).body
  assert.equal(data.url, 'https://acme.com/?a=1&utm_source=spring%20mail&utm_medium=e%26mail#top')
  const edit = await browser.open(`${path}/edit`)
  assert.deepEqual([edit.value('utm_source'), edit.value('utm_medium')], ['spring mail', 'e&mail'])
  const copy = await browser.open(`/app/links/new?copy=${data.id}`)
  assert.deepEqual([copy.value('url'), copy.value('utm_source')], [data.url, 'spring mail'])
  const long = await browser.submit(edit, path, { utm_term: 'x'.repeat(9_000) })
  assert.match(long.page.errorOf('url'), /“Destination”.*8,?192/)
  assert.match((await browser.submit(page, '/app/links', { utm_source: 'x' })).page.errorOf('url'), /Destination/)
})

test('an edited destination and its edited campaign fields are combined', async () => {
  const site = 'https://acme.com'
  for (const [typed, expected] of [
    [{ url: '/b?utm_source=new' }, '/b?utm_source=new'],
    [{ url: '/b' }, '/b'],
    [{ url: '/b?utm_source=new', utm_source: 'x' }, '/b?utm_source=x'],
    [{ utm_source: '' }, '/?a=%41&utm_term=t'],
    [{ url: '/?utm_medium=m', utm_medium: '' }, '/?utm_medium=m'],
    [{ url: '/?a', utm_content: 'c' }, '/?a&utm_content=c'],
  ] as const) {
    const link = await place.link({ url: `${site}/?utm_source=old&a=%41&utm_term=t` })
    const path = `/app/links/${link.id}`
    const url = 'url' in typed ? { url: site + typed.url } : {}
    const answer = await browser.submit(await browser.open(`${path}/edit`), path, { ...typed, ...url })
    assert.equal(answer.status, 303)
    assert.equal((await place.send('GET', `/links/${link.id}`)).body.data.url, site + expected)
  }
})

test('leaves a long value to the destination', async () => {
  const url = `https://acme.com/?utm_source=mail&utm_content=${'x'.repeat(251)}`
  const link = await place.link({ url })
  const path = `/app/links/${link.id}`
  const edit = await browser.open(`${path}/edit`)
  assert.deepEqual([edit.value('utm_source'), edit.value('utm_content')], ['mail', ''])
  await browser.submit(edit, path, { utm_source: 'sms' })
  const { data } = (await place.send('GET', `/links/${link.id}`)).body
  assert.equal(data.url, url.replace('mail', 'sms'))
})

test('suggests campaign values from the destinations of the account, newest first', async () => {
  const { browser, ...own } = await newOwner(app)
  const suggested = async () => {
    const { root } = await browser.open('/app/links/new')
    const lists = allOf(root, 'datalist').map((list) => [
      list.attributes.get('id'),
      allOf(list, 'option').map(({ attributes }) => attributes.get('value')),
    ])
    return Object.fromEntries(lists)
  }
  assert.deepEqual(await suggested(), {})
  // The search finds this spelling, too.
  await own.link({ url: 'https://acme.com/?utm%5Fmedium=sms' })
  assert.deepEqual(await suggested(), { 'field-utm_medium-suggestions': ['sms'] })
  for (const source of ['mail', 'flyer', 'mail', 'x'.repeat(101)])
    await own.link({ url: `https://acme.com/?utm_source=${source}&utm_medium=print` })
  assert.deepEqual(await suggested(), {
    'field-utm_source-suggestions': ['mail', 'flyer'],
    'field-utm_medium-suggestions': ['print', 'sms'],
  })
})
