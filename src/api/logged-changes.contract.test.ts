/** What the events of real changes contain: names, values, actors, and no event where nothing changed. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { commandsWith } from '../../test/command-line.ts'
import { signedIn, signedInMember } from '../../test/dashboard.ts'
import { fresh, newPlace, type Place } from '../../test/links-api.ts'

const app = await startApp()

/** Creates an account. `events` returns its events after the creation of its domain, oldest first. */
async function newHistory() {
  const place = await newPlace(app)
  const [{ id }] = (await place.send('GET', '/events')).body.data
  const events = async (filter = ''): Promise<Json[]> =>
    (await place.send('GET', `/events?sort=asc&per_page=100&after=${id}${filter}`)).body.data
  return { ...place, events }
}

/** Sends requests, which must succeed. */
async function sendAll(
  { send }: Place,
  ...requests: readonly (readonly [method: string, path: string, json?: Json])[]
) {
  for (const [method, path, json] of requests) {
    const { status, text } = await send(method, path, json === undefined ? {} : { json })
    assert.ok(status < 300, `${method} ${path}: ${text}`)
  }
}

describe('record_name', () => {
  test('is the short URL or the name at that time, even after other changes and the deletion', async () => {
    const own = await newHistory()
    const [from, to] = [own.domain.name, `${fresh('to')}.example`]
    const { id: domain_id } = await own.stored('/domains', { name: to })
    const { id } = await own.link({ alias: 'Old' })
    const space = await own.stored('/spaces', { name: 'Sales' })
    await sendAll(own, ['PATCH', `/links/${id}`, { alias: 'new' }])
    const move = { [`row-${id}`]: 'on', what: 'move', to: `domain-${domain_id}`, confirmed: 'true' }
    assert.equal((await (await signedIn(app, own.key)).post('/app/links/selected', move)).status, 303)
    await sendAll(
      own,
      ['DELETE', `/links/${id}`],
      ['PATCH', `/spaces/${space.id}`, { name: 'Press' }],
      ['DELETE', `/spaces/${space.id}`],
      ['DELETE', `/domains/${domain_id}`],
    )
    const named = async (filter: string) => (await own.events(filter)).map(({ record_name }) => record_name)
    const urls = [`${from}:3080/Old`, `${from}:3080/new`, `${to}:3080/new`, `${to}:3080/new`]
    assert.deepEqual(
      await named('&record=link'),
      urls.map((url) => `http://${url}`),
    )
    assert.deepEqual(await named('&record=space'), ['Sales', 'Press', 'Press'])
    assert.deepEqual(await named('&record=domain'), [to, to])
  })
})

describe('changes', () => {
  test('have null before a creation and after a deletion, and only the changed fields of an update', async () => {
    const own = await newHistory()
    const { id } = await own.stored('/tags', { name: 'Print', color: 2 })
    await sendAll(own, ['PATCH', `/tags/${id}`, { name: 'print', color: 2 }], ['DELETE', `/tags/${id}`])
    const link = await own.link({ title: 'Fair', tags: ['b', 'A'] })
    await sendAll(own, ['PATCH', `/links/${link.id}`, { title: '', tags: ['a', 'c'], url: 'https://acme.com' }])
    const changes = async (filter: string) => (await own.events(filter)).map((event) => event.changes)
    assert.deepEqual(await changes(`&record=tag&record_id=${id}`), [
      { name: [null, 'Print'], color: [null, 2] },
      { name: ['Print', 'print'] },
      { name: ['print', null], color: [2, null] },
    ])
    const [created, updated] = await changes('&record=link')
    const { url, alias, title, tags, id: given, created_at, short_url, clicks, status } = created
    assert.deepEqual(
      [url, alias, title, tags],
      [link.url, link.alias, link.title, link.tags].map((value) => [null, value]),
    )
    assert.deepEqual([given, created_at, short_url, clicks, status], Array(5).fill(undefined))
    assert.deepEqual(updated, { title: ['Fair', null], tags: [link.tags, ['A', 'c']] })
  })

  test('name a secret, and never have it or its hash; the undo of a new password restores the old one', async () => {
    const own = await newHistory()
    const { id, short_url } = await own.link({ redirect_password: 'first word' })
    for (const redirect_password of ['second word', '', 'third word']) {
      await sendAll(own, ['PATCH', `/links/${id}`, { redirect_password }])
    }
    await sendAll(own, ['DELETE', `/links/${id}`])
    const all = await own.events()
    assert.deepEqual(
      all.map(({ changes }) => changes.redirect_password),
      [
        [null, 'secret'],
        ['secret', 'secret'],
        ['secret', null],
        [null, 'secret'],
        ['secret', null],
      ],
    )
    assert.doesNotMatch(JSON.stringify(all), /first|second|third|scrypt/)
    for (const { id: event } of all.slice(1).reverse()) {
      const { status, text } = await own.send('POST', `/events/${event}/undo`)
      assert.equal(status, 200, text)
    }
    const open = (word: string) => app.visit(short_url, { method: 'POST', form: { redirect_password: word } })
    assert.deepEqual([(await open('second word')).status, (await open('first word')).status], [401, 303])
  })
})

test('reads, visits, and requests that change nothing or fail store no event; a repetition stores none again', async () => {
  const own = await newHistory()
  const headers = { 'idempotency-key': 'once' }
  const json = { url: 'https://acme.com/', title: 'Fair', tags: ['Print'] }
  const answers = [
    await own.send('POST', '/links', { headers, json }),
    await own.send('POST', '/links', { headers, json }),
  ]
  const [{ id, short_url, alias }] = answers.map(({ body }) => body.data)
  const same = { ids: [id], set: { title: 'Fair' }, add_tags: ['print'] }
  await sendAll(
    own,
    ['PATCH', `/links/${id}`, json],
    ['PATCH', `/links/${id}`, {}],
    ['PATCH', '/links/bulk', same],
    ['PATCH', `/domains/${own.domain.id}`, { homepage_url: '' }],
    ['GET', `/links/${id}`],
    ['GET', '/stats?name=clicks'],
  )
  assert.equal((await app.visit(short_url)).status, 302)
  for (const [method, path, sent, status] of [
    ['POST', '/links', { url: 'https://acme.com/', alias, tags: ['lost'] }, 409],
    ['PATCH', `/links/${id}`, { url: 'acme' }, 422],
    ['POST', '/links/bulk?atomic=true', { links: [{ url: 'https://acme.com/', tags: ['lost'] }, { url: '' }] }, 422],
    ['DELETE', '/links/9007199254740991', undefined, 404],
    ['DELETE', `/domains/${own.domain.id}`, undefined, 409],
  ] as const) {
    const answer = await own.send(method, path, sent === undefined ? {} : { json: sent })
    assert.equal(answer.status, status, answer.text)
  }
  assert.deepEqual((await own.events()).map(({ type }) => type).toSorted(), ['link.created', 'tag.created'])
})

test('the actor is the key or its session, the member, the user of a command, or Waymark', async () => {
  const own = await newHistory()
  const { key, secret } = await app.issueKey({ account: own.account, name: 'ci' })
  assert.equal((await own.send('POST', '/tags', { key: secret, json: { name: 'by key' } })).status, 201)
  for (const [browser, name] of [
    [await signedIn(app, secret), 'by session'],
    [await signedInMember(app, { account: own.account, name: 'Ana' }), 'by Ana'],
  ] as const) {
    assert.equal((await browser.post('/app/tags', { name, color: '1' })).status, 303)
  }
  const { location } = app.storage
  const { say } = commandsWith({
    DATABASE_URL: location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url,
  })
  await say(`tags create 'by command' --account ${own.account}`)

  const ci = { kind: 'key', id: key.id, name: 'ci' }
  const events = await own.events()
  const ana = { kind: 'member', id: events.find(({ type }) => type === 'member.joined')?.record_id, name: 'Ana' }
  const actors = [
    ['ci', { kind: 'system', id: null, name: 'Waymark' }],
    ['by key', ci],
    ['Ana', ana],
    ['by session', ci],
    ['by Ana', ana],
    ['by command', { kind: 'command', id: null, name: userInfo().username }],
  ] as const
  assert.deepEqual(
    events.map(({ record_name, actor }) => [record_name, actor]),
    actors,
  )
  const found = async (filter: string) => (await own.events(filter)).map(({ record_name }) => record_name)
  assert.deepEqual(await found(`&actor=key&actor_id=${key.id}&type=tag.created`), ['by key', 'by session'])
  assert.deepEqual(await found('&actor=member'), ['Ana', 'by Ana'])
  assert.deepEqual(await found('&actor=system'), ['ci'])
  assert.deepEqual(await found('&actor=command&record=tag'), ['by command'])
  const ids = (await own.events('&actor=command')).map(({ request_id }) => request_id)
  assert.deepEqual(ids, [null])
})
