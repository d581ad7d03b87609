/** The width of pages with the longest names, hosts, tags and URLs, none of which has a space, in a real browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { browserForTests, phone, shoot, signIn, skip, storedIn } from '../../test/dashboard-browser.ts'
import { addClicks, manyPeople } from '../../test/days.ts'
import { systemActor } from '../access/actor.ts'
import { updateAccount } from '../accounts/store.ts'

const openWindow = browserForTests()
const app = await startApp()

/** Stores a record of each kind with the longest values. Returns the pages that show them, and pages with invalid dates. */
async function storeLongNames(): Promise<string[]> {
  const stored = storedIn(app)
  const long = 'W'.repeat(255)
  const host = `${`${'w'.repeat(63)}.`.repeat(3)}${'w'.repeat(57)}.com`
  const url = `https://${host}/${'W'.repeat(1_700)}`
  await updateAccount(app.storage, systemActor(app.account), { name: long, time_zone: 'UTC' })
  const { id: domain_id } = await stored('/domains', { name: host, homepage_url: url })
  const { id: space_id } = await stored('/spaces', { name: long })
  const tags = Array.from({ length: 20 }, (_, n) => `${'W'.repeat(48)}${n + 10}`)
  const texts = { title: long, notes: 'W'.repeat(2_000), tags, alias: 'W'.repeat(128) }
  const past = { active_period_end_at: '2020-01-01T00:00:00Z', expiration_url: url }
  const { id: link } = await stored('/links', {
    url: `${url}?utm_source=${long}`,
    domain_id,
    space_id,
    ...texts,
    ...past,
  })
  await addClicks(app.storage, link, Math.floor(Date.now() / 86_400_000), manyPeople(3, 'referrers', host))
  const [invalid, other] = ['period=today', await stored('/links', { url, domain_id })]
  return [
    ...[`?${invalid}`, '/top-spaces', '/top-domains', `/countries?from=2026-02-02&to=2026-02-01`, '/referrers'],
    ...['', `?search=${long}`, `?tags=${tags[0]}x`, '?tag_id=1', '/new', `/new?copy=${link}`].map(
      (end) => `/links${end}`,
    ),
    ...['', '/edit', '/delete', `?${invalid}`].map((end) => `/links/${link}${end}`),
    ...['', `&${invalid}`].map((end) => `/links/compare?ids=${link},${other.id}${end}`),
    ...['', `?search=${long}`, `/${domain_id}`, `/${domain_id}/edit`, `/${domain_id}/delete`].map(
      (end) => `/domains${end}`,
    ),
    ...['', `?search=${long}`, `/${space_id}`, `/${space_id}/edit`, `/${space_id}/delete`].map(
      (end) => `/spaces${end}`,
    ),
    ...['', '/1', '/1/edit', '/1/merge', '/1/delete'].map((end) => `/tags${end}`),
    ...['', '/account', '/about', '/keys', `/${long}`],
  ].map((path) => `/app${path}`)
}

test('no page is wider than a phone or a tablet, however long its names and hosts are', {
  skip,
  timeout: 300_000,
}, async () => {
  const paths = await storeLongNames()
  const wide: string[] = []
  for (const options of [
    phone(),
    { viewport: { width: 390, height: 844 } },
    { viewport: { width: 768, height: 900 } },
  ]) {
    const { page, context } = await openWindow(options)
    await signIn(app, page)
    const { width } = options.viewport ?? assert.fail()
    for (const path of paths) {
      await page.goto(app.origin + path)
      const shown = await page.evaluate<number>('document.documentElement.scrollWidth')
      if (shown > width) wide.push(`${path.slice(0, 80)} is ${shown} wide on ${width}`)
    }
    await shoot(page, `${width}-light-long`)
    await context.close()
  }
  assert.deepEqual(wide, [])
})
