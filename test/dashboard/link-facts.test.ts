/** The settings on the link page, and the sentence that says where visitors go. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { signedIn } from '../dashboard.ts'
import { allOf, elementsIn, textOf } from '../html-page.ts'
import { clickOn, newPlace } from '../links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const other = await place.stored('/domains', {
  name: `lost.${place.domain.name}`,
  not_found_url: 'https://acme.com/lost',
})
const browser = await signedIn(app, place.key)

/** Returns the facts of a link by label, and the sentence above them. */
async function shown({ id }: Json) {
  const { root } = await browser.open(`/app/links/${id}`)
  const facts = elementsIn(root).find(({ attributes }) => attributes.get('id') === 'facts')
  assert.ok(facts)
  const values = allOf(facts, 'dd').map(textOf)
  const sentence = elementsIn(root).find(({ attributes }) => attributes.get('class') === 'attention')
  return {
    facts: Object.fromEntries(allOf(facts, 'dt').map((label, at) => [textOf(label), values[at]])),
    sentence: sentence && textOf(sentence),
    opens: allOf(root, 'section', { id: 'clicks' }).some((section) => /Open short link/.test(textOf(section))),
    defaults: allOf(root, 'details', { class: 'defaults' }).map(textOf)[0],
  }
}

test('the link page shows every setting that decides where visitors go', async () => {
  const plain = await shown(await place.link())
  assert.equal(plain.opens, true)
  assert.deepEqual(Object.keys(plain.facts), ['Destination', 'Created', 'Last click'])
  assert.equal(plain.defaults, 'Default settingsRedirect status302: temporaryQuery stringNot passed on')
  assert.equal(plain.sentence, undefined)
  const full = await shown(
    await place.link({
      ...{ active_period_start_at: '2026-01-02T03:04:00Z', active_period_end_at: '2090-01-02T03:04:00Z' },
      ...{ clicks_limit: 3000, expiration_url: 'https://shop.acme.com/sold-out', redirect_password: 'secret' },
      ...{ forward_query: true, redirect_status: 301 },
    }),
  )
  assert.equal(full.defaults, undefined)
  const { Created: _, ...facts } = full.facts
  assert.deepEqual(facts, {
    Destination: 'https://acme.com',
    'After it expires': 'shop.acme.com/sold-out',
    'Redirect status': '301: permanent',
    'Query string': 'Passed on to the destination',
    'Started working on': 'Jan 2, 2026, 03:04 UTC',
    'Stops working on': 'Jan 2, 2090, 03:04 UTC',
    'Click limit': '0 of 3,000 clicks used',
    Password: 'Required',
    'Last click': 'Never',
  })
  assert.equal(full.sentence, undefined)
})

test('the link page has its title under the heading, and its destination breaks between parameters', async () => {
  const url =
    'https://acme.com/spring/family?utm_source=instagram&utm_medium=qr&utm_campaign=a-campaign-with-a-long-name'
  const { id } = await place.link({ url, title: '<Spring & family>' })
  const { root, text } = await browser.open(`/app/links/${id}`)
  const [group] = allOf(root, 'hgroup')
  assert.ok(group)
  assert.deepEqual(allOf(group, 'p').map(textOf), ['<Spring & family>'])
  const words = 'https://<wbr>acme.com/<wbr>spring/<wbr>family?<wbr>utm_source=instagram&<wbr>utm_medium=qr&<wbr>'
  const campaign = 'utm_<wbr>campaign=<wbr>a-<wbr>campaign-<wbr>with-<wbr>a-<wbr>long-<wbr>name'
  const answer = await browser.get(`/app/links/${id}`)
  assert.ok(answer.text.replaceAll('&amp;', '&').includes(`>${words}${campaign}<`), text)
  assert.equal(allOf((await browser.open(`/app/links/${(await place.link()).id}`)).root, 'hgroup').length, 0)
})

test('the page of an expiring link says where its visitors go then', async () => {
  for (const [json, expected] of [
    [{ clicks_limit: 1 }, 'The page “This link has expired”'],
    [
      { active_period_end_at: '2090-01-01T00:00:00Z', domain_id: other.id },
      'acme.com/lost, the domain’s URL for unknown links',
    ],
    [{ clicks_limit: 1, expiration_url: 'https://acme.com/over' }, 'acme.com/over'],
  ] as const) {
    assert.equal((await shown(await place.link(json))).facts['After it expires'], expected)
  }
})

test('the page of an expired, disabled or scheduled link says in one sentence where its visitors go now', async () => {
  const over = { active_period_end_at: '2020-01-02T03:04:00Z' }
  const domain_id = other.id
  const lost = 'visitors are redirected to acme.com/lost, the domain’s URL for unknown links.'
  for (const [json, clicks, sentence, limit] of [
    [
      { clicks_limit: 3, expiration_url: 'https://shop.acme.com/sold-out' },
      3,
      'Used up on Nov 23, 2026: visitors are redirected to shop.acme.com/sold-out.',
      '3 of 3 clicks used',
    ],
    [{ clicks_limit: 2 }, 5, 'Used up: visitors see the page “This link has expired”.', '2 of 2 clicks used'],
    [over, 0, 'Expired on Jan 2, 2020: visitors see the page “This link has expired”.'],
    [{ ...over, domain_id }, 0, `Expired on Jan 2, 2020: ${lost}`],
    [{ disabled: true }, 0, 'Disabled: visitors see the page “Link not found”.'],
    [{ active_period_start_at: '2090-01-01T00:00:00Z', domain_id }, 0, `Starts on Jan 1, 2090: until then, ${lost}`],
  ] as const) {
    const link = await place.link(json)
    if (clicks > 0) await clickOn(app.storage, link.id, clicks, '2026-11-23T10:00:00Z')
    const page = await shown(link)
    assert.deepEqual([page.sentence, page.facts['Click limit']], [sentence, limit])
    if (clicks === 0) assert.equal(page.opens, false, 'nobody reaches the destination')
    if (!('clicks_limit' in json)) assert.equal(page.facts['After it expires'], undefined, 'the sentence says it')
  }
})

test('the link page offers Copy and Edit, and the other actions in a menu', async () => {
  const link = await place.link()
  const path = `/app/links/${link.id}`
  const labels = async () => {
    const { root } = await browser.open(path)
    const [head] = allOf(root, 'header', { class: 'head' })
    const [menu] = allOf(root, 'div', { id: 'link-menu' })
    assert.ok(head && menu)
    const pressed = elementsIn(head).filter(({ name, parent }) => /^(?:a|button)$/.test(name) && parent?.name === 'div')
    return [pressed.map(textOf), allOf(menu, 'li').map(textOf)]
  }
  const actions = ['CopyCopied', 'Edit', 'More actions']
  assert.deepEqual(await labels(), [actions, ['Open', 'Duplicate', 'Disable', 'Archive', 'Delete link']])
  await clickOn(app.storage, link.id, 1, new Date().toISOString())
  await browser.post(`${path}/disable`)
  assert.deepEqual(await labels(), [
    actions,
    ['Open', 'Duplicate', 'Enable', 'Archive', 'Delete statistics', 'Delete link'],
  ])
  const { links, root } = await browser.open(path)
  assert.ok(links.includes(`/app/links/new?copy=${link.id}`))
  // Without scripts, it replaces the Copy button.
  assert.deepEqual(allOf(root, 'code', { class: 'without-script' }).map(textOf), [link.short_url])
})
