/** Two accounts with full data: no page or form shows or changes the other account, for every existing route. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemActor } from '../../src/access/actor.ts'
import { createAccount } from '../../src/accounts/store.ts'
import { createKey, listKeys } from '../../src/keys/store.ts'
import { query as sql } from '../../src/storage/schema.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Browser, type Form, signedInMember, type Visited } from '../dashboard.ts'
import { addClicks, dayWith } from '../days.ts'
import { runs } from '../runs.ts'

const app = await startApp()

interface Owner {
  readonly browser: Browser
  readonly account: number
  /** A word that appears in all records of the account, and nowhere else. */
  readonly mark: string
  readonly ids: Readonly<Record<'links' | 'domains' | 'spaces' | 'tags' | 'keys' | 'sessions', readonly number[]>>
  /** Returns all records of the account, through its own key. */
  state(): Promise<unknown>
}

const sessionsOf = (account: number) => sql.selectFrom('sessions').select('id').where('account_id', '=', account)

async function owner(mark: string): Promise<Owner> {
  const { id: account } = await createAccount(app.storage, `Account ${mark}`)
  const named = { name: `Key ${mark}`, scopes: ['*'], lifetimeMs: null } as const
  const { secret: key } = await createKey(app.storage, systemActor(account), named)
  const stored = async (path: string, json: Json) => {
    const { status, body, text } = await app.send('POST', `/api/v1${path}`, { key, json })
    assert.equal(status, 201, text)
    return body.data
  }
  const domain = await stored('/domains', { name: `${mark}.example.com`, homepage_url: `https://acme.com/${mark}` })
  const space = await stored('/spaces', { name: `Space ${mark}` })
  const url = `https://acme.com/${mark}?utm_source=${mark}`
  const link = await stored('/links', { url, alias: mark, title: mark, space_id: space.id, tags: [mark] })
  const deleted = await stored('/links', { url: `https://acme.com/${mark}`, alias: `${mark}-deleted` })
  await app.actions.links.remove(systemActor(account), deleted.id, {}, null)
  const deletedDomain = await stored('/domains', { name: `${mark}.deleted.example.com` })
  await app.actions.domains.remove(systemActor(account), deletedDomain.id, {}, null)
  const day = Math.floor(Date.now() / 86_400_000)
  const values = { referrers: `${mark}.example` }
  await addClicks(app.storage, link.id, day, dayWith([{ hour: 0, kind: 'people', values }]))
  const browser = await signedInMember(app, { account, name: `Person ${mark}` })
  const keys = async () => (await listKeys(app.storage, account)).map(({ id, revoked_at }) => [id, revoked_at])
  const sessions = async () => (await app.storage.execute(sessionsOf(account))).map(({ id }) => id)
  const state = async () => {
    const lists = ['links?archived=any', 'domains', 'spaces', 'tags', 'stats?name=clicks&'].map(
      async (name) => (await app.send('GET', `/api/v1/${name.includes('?') ? name : `${name}?`}`, { key })).body,
    )
    return [await Promise.all(lists), await keys(), await sessions()]
  }
  const ids = {
    links: [link.id, deleted.id],
    domains: [domain.id, deletedDomain.id],
    spaces: [space.id],
    tags: [(await app.send('GET', '/api/v1/tags', { key })).body.data[0].id],
    keys: (await listKeys(app.storage, account)).map(({ id }) => id),
    sessions: await sessions(),
  }
  return { browser, account, mark, ids, state }
}

const [mine, theirs] = [await owner('mine4711'), await owner('theirs0815')]
const routes = app.router.declared.filter(
  ({ template, method }) => /^\/app(?:\/|$)/.test(template) && method !== 'HEAD' && !template.endsWith('*'),
)
const withId = routes.filter(({ template }) => template.includes(':id'))

/** Ids of the other account for each path parameter. */
function idsFor(template: string): readonly number[] {
  const [, resource = ''] = /(\w+)\/:id/.exec(template) ?? []
  const ids = theirs.ids[resource as keyof Owner['ids']]
  assert.ok(ids, `${template}: say in this test which ids the path has`)
  return ids
}

function assertNothingOf(other: Owner, { text, headers }: Visited, asked: string): void {
  assert.ok(!text.includes(other.mark), `${asked} shows something of the other`)
  assert.ok(!JSON.stringify(headers).includes(other.mark), asked)
}

test("returns 404 for every page and form with another account's id", async () => {
  const before = await theirs.state()
  const own = await mine.state()
  const form = { version: '1', name: 'x' }
  for (const { method, template } of withId) {
    const ask = (path: string) => (method === 'GET' ? mine.browser.get(path) : mine.browser.post(path, form))
    for (const id of idsFor(template)) {
      const path = template.replace(':id', String(id)).replace(':host', `${mine.mark}.example`)
      const answer = await ask(path)
      // Deleted records look like records that never existed.
      if (template.endsWith('/restore')) assert.equal(answer.headers.location, `/app/${template.split('/')[2]}`)
      else assert.equal(answer.status, 404, `${method} ${path}`)
      assertNothingOf(theirs, answer, path)
      const same = await ask(path.replace(/\/\d+(?=\/|$)/, '/99999'))
      const told = (each: Visited) => each.text.replaceAll(/\d+/g, 'n')
      assert.deepEqual([same.status, told(same)], [answer.status, told(answer)], path)
    }
  }
  assert.deepEqual([await theirs.state(), await mine.state()], [before, own])
})

test('every page shows only the records of its account', async () => {
  const pages = routes.filter(
    ({ method, template }) => method === 'GET' && !/(?:selected|undo|sessions)$|static/.test(template),
  )
  for (const { template } of pages) {
    const id = mine.ids[template.split('/')[2] as keyof Owner['ids']]?.[0]
    const path = template.replace(':id', String(id)).replace(':host', `${mine.mark}.example`)
    const answer = await mine.browser.get(path)
    assert.equal(answer.status, 200, path)
    assertNothingOf(theirs, answer, path)
    if (String(answer.headers['content-type']).startsWith('text/html') && path !== '/app/sign-in') {
      assert.ok(answer.text.includes(mine.mark), path)
    }
  }
})

/** Forms and URLs that refer to records of the other account by a field. */
const { links, domains, spaces, tags } = theirs.ids
const idText = fc.constantFrom(...[...links, ...domains, ...spaces, ...tags].map(String))
const queryFields = {
  search: fc.constantFrom(theirs.mark, 'example', 'a'),
  domain_id: idText,
  space_id: idText,
  tag_id: idText,
  tags: fc.constantFrom(theirs.mark, '1', 'a, b'),
  link_id: idText,
  copy: idText,
  ids: fc.array(idText, { maxLength: 6 }).map((ids) => ids.join(',')),
  sort_by: fc.constantFrom('alias', 'name', 'clicks', 'clicks_30d', 'last_clicked_at'),
  page: fc.constantFrom('1', '2'),
  after: idText,
}
const query = fc
  .record(queryFields, { requiredKeys: [] })
  .map((fields) => new URLSearchParams(fields as Form).toString())
const names = `url alias name domain_id space_id id account account_id version what to matching next edit copy
  confirmed color tags into`.split(/\s+/)
const field = fc.constantFrom(...names, ...links.map((id) => `row-${id}`))
const value = fc.oneof(
  idText,
  fc.constantFrom(`domain-${domains[0]}`, `space-${spaces[0]}`, `/app/links?domain_id=${domains[0]}`),
  fc.constantFrom(...'move delete restore disable enable archive true https://acme.com/ 1 fresh'.split(' ')),
)
const typed = fc.array(fc.tuple(field, value), { maxLength: 6 }).map((pairs) => Object.fromEntries(pairs))
// A closed session and a public page prove nothing.
const open = routes.filter(({ template }) => !/:id|sign-|end-others|end-all|static|scheme$/.test(template))

test('leaves links of another account out of a comparison, like deleted links', async () => {
  const [own, deleted] = mine.ids.links
  const [other] = theirs.ids.links
  const pageOf = (ids: readonly unknown[]) => mine.browser.get(`/app/links/compare?ids=${ids}`)
  const answer = await pageOf([own, other, deleted, own])
  assert.equal(answer.status, 200)
  assert.equal(answer.page.heading, 'Compare 1 link')
  assert.match(answer.page.text, /2 links aren’t shown because they don’t exist\./)
  assertNothingOf(theirs, answer, 'the comparison')
  const none = await pageOf([other])
  assert.equal(none.text.replaceAll(/\d+/g, 'n'), (await pageOf([99_999])).text.replaceAll(/\d+/g, 'n'))
})

test('rejects a tag, a space or a domain of another account', async () => {
  const [link] = mine.ids.links
  const { tags, spaces, domains } = theirs.ids
  const [before, other] = [await mine.state(), await theirs.state()]
  const url = 'https://acme.com/'
  for (const [path, form] of [
    [`/app/tags/${mine.ids.tags[0]}/merge`, { into: `${tags[0]}` }],
    ['/app/links', { url, domain_id: `${domains[0]}` }],
    ['/app/links', { url, space_id: `${spaces[0]}` }],
    ['/app/links/selected', { [`row-${link}`]: 'on', what: 'move', to: `space-${spaces[0]}` }],
    ['/app/links/selected', { [`row-${link}`]: 'on', what: 'move', to: `domain-${domains[0]}` }],
    ['/app/links/selected', { matching: '1', what: 'move', to: `domain-${domains[0]}`, confirmed: 'true' }],
  ] as const) {
    const answer = await mine.browser.post(path, form)
    assert.equal(answer.status, 422)
    assert.match(answer.page.text, /This (?:tag|domain|space) does not exist\./)
    assertNothingOf(theirs, answer, path)
  }
  assert.deepEqual([await mine.state(), await theirs.state()], [before, other])
})

// Last, because its forms may store tags that are named like ids, and leave a notice.
test('no request shows or changes records of another account', async () => {
  const before = await theirs.state()
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...open), query, typed, async ({ method, template }, query, form) => {
      const path = method === 'GET' && query !== '' ? `${template}?${query}` : template
      const answer = method === 'GET' ? await mine.browser.get(path) : await mine.browser.post(path, form)
      // Only the search term may be repeated.
      if (!path.includes(theirs.mark)) assertNothingOf(theirs, answer, path)
      assert.ok(answer.status < 500)
    }),
    { numRuns: runs(300, 75) },
  )
  assert.deepEqual(await theirs.state(), before)
})
