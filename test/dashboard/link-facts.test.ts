/** The settings on the page of a link, and the sentence that says where visitors go. */
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
  }
}

test('the page of a link shows every setting that decides where visitors go', async () => {
  const plain = await shown(await place.link())
  assert.deepEqual(Object.keys(plain.facts), [
    ...['Destination', 'Redirect status', 'Query string', 'Created', 'Last click'],
  ])
  assert.equal(plain.facts['Redirect status'], '302: temporary')
  assert.equal(plain.facts['Query string'], 'Not passed on')
  assert.equal(plain.sentence, undefined)
  const full = await shown(
    await place.link({
      ...{ active_period_start_at: '2026-01-02T03:04:00Z', active_period_end_at: '2090-01-02T03:04:00Z' },
      ...{ clicks_limit: 3000, expiration_url: 'https://shop.acme.com/sold-out', redirect_password: 'secret' },
      ...{ forward_query: true, redirect_status: 301 },
    }),
  )
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

test('the page of a link that can expire says where its visitors go then', async () => {
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
    if (!('clicks_limit' in json)) assert.equal(page.facts['After it expires'], undefined, 'the sentence says it')
  }
})

test('the page of a link offers Copy and Edit, and the other actions in a menu', async () => {
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
