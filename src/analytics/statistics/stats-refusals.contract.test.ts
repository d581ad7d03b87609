import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import { addClicks, dayWith } from '../../../test/days.ts'
import { takeDomainAway } from '../../../test/links.ts'
import { assertRefused, newPlace } from '../../../test/links-api.ts'
import { toUtcDay } from '../../accounts/calendar.ts'

const app = await startApp()
const place = await newPlace(app)
const link = await place.link()
const ask = (query: string) => place.send('GET', `/stats?${query}`)

describe('invalid queries', () => {
  const refused: readonly (readonly [string, ...(readonly [field: string, code: string])[]])[] = [
    ['', ['name', 'required']],
    ['name=', ['name', 'required']],
    ['name=visitors', ['name', 'not_allowed']],
    ['name=clicks&name=clicks', ['name', 'not_single']],
    ['name=clicks&from=2026-02-30', ['from', 'invalid_date']],
    ['name=clicks&to=2026-1-1', ['to', 'invalid_date']],
    ['name=clicks&to=2026-11-22T00:00:00Z', ['to', 'invalid_date']],
    ['name=clicks&from=today', ['from', 'invalid_date']],
    ['name=clicks&from=1969-12-31', ['from', 'invalid_date']],
    ['name=clicks&to=0000-01-01', ['to', 'invalid_date']],
    ['name=clicks&from=2026-11-22&to=2026-11-21', ['to', 'before_from']],
    ['name=countries&from=2025-11-21&to=2026-11-22', ['to', 'range_too_long']],
    ['name=clicks&interval=hour&from=2026-10-22&to=2026-11-22', ['to', 'range_too_long']],
    ['name=clicks&interval=week', ['interval', 'not_allowed']],
    ['name=countries&interval=day', ['interval', 'not_allowed']],
    ['name=clicks&page=1', ['page', 'not_allowed']],
    [
      'name=clicks&sort_by=clicks&sort=asc&per_page=10',
      ['sort_by', 'not_allowed'],
      ['sort', 'not_allowed'],
      ['per_page', 'not_allowed'],
    ],
    ['name=rules', ['link_id', 'required']],
    ['name=addresses', ['link_id', 'required']],
    [`name=addresses&domain_id=${place.domain.id}`, ['link_id', 'required']],
    [`name=rules&domain_id=${place.domain.id}`, ['link_id', 'required']],
    ['name=countries&sort_by=id', ['sort_by', 'not_allowed']],
    ['name=countries&sort=up', ['sort', 'not_allowed']],
    ['name=countries&per_page=20', ['per_page', 'not_allowed']],
    ['name=countries&page=0', ['page', 'out_of_range']],
    ['name=countries&after=1', ['after', 'unknown_field']],
    ['name=countries&search=a', ['search', 'unknown_field']],
    ['name=clicks&link_id=01', ['link_id', 'out_of_range']],
    ['name=clicks&domain_id=0', ['domain_id', 'out_of_range']],
    ['name=clicks&space_id=x', ['space_id', 'out_of_range']],
    ['name=clicks&tag_id=1,2', ['tag_id', 'out_of_range']],
    [
      'name=clicks&space_id=999999&tag_id=999999',
      ['space_id', 'not_allowed'],
      ['tag_id', 'not_allowed'],
      ['space_id', 'unknown_space'],
      ['tag_id', 'unknown_tag'],
    ],
    [
      `name=clicks&link_id=${link.id}&domain_id=${place.domain.id}`,
      ['link_id', 'not_allowed'],
      ['domain_id', 'not_allowed'],
    ],
    [
      'name=x&from=x&to=x&link_id=999999&intervall=day',
      ['name', 'not_allowed'],
      ['from', 'invalid_date'],
      ['to', 'invalid_date'],
      ['intervall', 'unknown_field'],
      ['link_id', 'unknown_link'],
    ],
  ]
  for (const [query, ...expected] of refused) {
    test(`422 for ${query}`, async () => assertRefused(await ask(query), ...expected))
  }

  test('422 with a fix in the message', async () => {
    const messageOf = async (query: string) => (await ask(query)).body.violations[0].message
    const choices =
      'clicks, countries, referrers, browsers, operating_systems, devices, languages, rules, addresses, classes, links'
    for (const [query, message] of [
      ['', `The name field is required. It must be one of ${choices}.`],
      ['name=rules', 'The link_id field is required, because name=rules shows the clicks of one link.'],
      ['name=clicks&intervall=day', 'The intervall field is unknown. Did you mean interval?'],
      ['name=clicks&to=x', 'The to date must be in the calendar, such as 2026-11-22, from 1970-01-01 on.'],
      [
        'name=clicks&from=2020-01-01&to=2026-01-01',
        'The range may have at most 366 days. Send an earlier to, and ask for the rest in another request.',
      ],
      [
        'name=clicks&interval=hour&from=2026-01-01&to=2026-03-01',
        'The range may have at most 31 days by hour. Send an earlier to, or another interval.',
      ],
      [
        'name=devices&interval=hour',
        'The interval cannot be combined with name=devices. Leave it out, or send name=clicks.',
      ],
      ['name=clicks&page=2', 'The page cannot be combined with name=clicks. Leave it out, or send another name.'],
      ['name=clicks&link_id=1&space_id=1', 'The link_id cannot be sent together with space_id: send one of them.'],
    ] as const) {
      assert.equal(await messageOf(query), message)
    }
  })

  test('422 with the same message for unknown records and records of another account', async () => {
    const another = await newPlace(app)
    const theirs = {
      link: await another.link(),
      domain: another.domain,
      space: await another.stored('/spaces', { name: 'x' }),
      tag: await another.stored('/tags', { name: 'x' }),
    }
    for (const [kind, { id }] of Object.entries(theirs)) {
      for (const asked of [id, 987_654_321]) {
        const answer = await ask(`name=clicks&${kind}_id=${asked}`)
        assertRefused(answer, [`${kind}_id`, `unknown_${kind}`])
        assert.equal(answer.body.message, `There is no ${kind} with the id ${asked}.`)
      }
    }
  })

  test('422 for a link whose domain is being removed', async () => {
    const leaving = await place.stored('/domains', { name: 'leaving.example' })
    const { id } = await place.link({ domain_id: leaving.id })
    assert.equal((await ask(`name=clicks&link_id=${id}`)).status, 200)
    await app.storage.execute(takeDomainAway({ id: leaving.id, name: 'leaving.example/' }))
    assertRefused(await ask(`name=clicks&link_id=${id}`), ['link_id', 'unknown_link'])
    assertRefused(await ask(`name=clicks&domain_id=${leaving.id}`), ['domain_id', 'unknown_domain'])
  })
})

describe('conventions of the API', () => {
  test('304 for unchanged statistics, 200 after another click, 412 for an old ETag', async () => {
    const own = await newPlace(app)
    const { id } = await own.link()
    for (const name of ['clicks', 'countries']) {
      const get = (headers: Record<string, string> = {}) => own.send('GET', `/stats?name=${name}`, { headers })
      const { headers } = await get()
      const etag = String(headers.etag)
      const known = await get({ 'if-none-match': etag })
      assert.deepEqual([known.status, known.headers.link], [304, headers.link])
      await addClicks(app.storage, id, toUtcDay(Date.now()), dayWith([{ hour: 1, kind: 'people' }]))
      assert.equal((await get({ 'if-none-match': etag })).status, 200)
      assert.equal((await get({ 'if-match': etag })).status, 412)
      assert.equal((await get({ 'if-match': 'x' })).status, 400)
    }
  })

  test('200 with zeros for an account without clicks', async () => {
    const own = await newPlace(app)
    for (const name of ['clicks', 'countries', 'links', 'classes']) {
      const { status, body } = await own.send('GET', `/stats?name=${name}`)
      assert.deepEqual([status, body.meta.clicks], [200, 0])
    }
  })
})
