/**
 * Two accounts with full data, and a person who is in both: no operation, page or form shows or changes the other account,
 * for every existing route.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import { operations } from '../src/app/operations.ts'
import { createKey, listKeys } from '../src/keys/store.ts'
import { createInvitation } from '../src/members/invitations.ts'
import { insertPerson } from '../src/members/store.ts'
import { insertLoginToken } from '../src/sessions/store.ts'
import { query as sql } from '../src/storage/schema.ts'
import { startApp } from './app.ts'
import { type Answer, assertProblem, type Json, type Request } from './client.ts'
import { Browser, type Form, signedInMember, type Visited } from './dashboard.ts'
import { addClicks, dayWith } from './days.ts'
import { newMember } from './members.ts'
import { runs } from './runs.ts'

const app = await startApp()

type Owner = Awaited<ReturnType<typeof owner>>

/** The person who is in both accounts, with another name and email in each. */
const both = await insertPerson(app.storage, null)

/** Returns an account's rows, without what the use of sessions changes. */
async function rowsOf(table: 'members' | 'invitations' | 'sessions', account: number) {
  const rows = await app.storage.execute(
    sql.selectFrom(table).selectAll().where('account_id', '=', account).orderBy('id'),
  )
  return rows.map((row) => ({ ...row, last_seen_at: null, last_used_at: null }))
}

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id)

/** Adds people, an invitation and a passkey to an account, and signs in its owner. */
async function addPeople(account: number, mark: string) {
  const browser = await signedInMember(app, { account, name: `Person ${mark}`, email: `${mark}@example.com` })
  await newMember(app.storage, account, { person: both, name: `Both ${mark}`, email: `both-${mark}@example.com` })
  const members = await rowsOf('members', account)
  const [first] = members as unknown as [{ id: number; person_id: number }]
  const invited = { role: 'owner', name: `Guest ${mark}`, email: `guest-${mark}@example.com` } as const
  await createInvitation(app.storage, { ...systemActor(account), kind: 'member', id: first.id }, invited)
  const passkey = { person_id: first.person_id, credential_id: mark, public_key: Buffer.from(mark), counter: 0 }
  const shown = { transports: '', name: `Passkey ${mark}`, created_at: new Date().toISOString(), last_used_at: null }
  await app.storage.execute(sql.insertInto('passkeys').values({ ...passkey, ...shown }))
  const passkeys = sql.selectFrom('passkeys').select('id').where('person_id', '=', first.person_id)
  return {
    browser,
    people: idsOf(members),
    invitations: idsOf(await rowsOf('invitations', account)),
    sessions: idsOf(await rowsOf('sessions', account)),
    passkeys: idsOf(await app.storage.execute(passkeys)),
  }
}

/** Stores an account. Its mark appears in all of its records, and nowhere else. */
async function owner(mark: string) {
  const { id: account } = await createAccount(app.storage, `Account ${mark}`)
  const named = { name: `Key ${mark}`, scopes: ['*'], lifetimeMs: null } as const
  const { secret: key } = await createKey(app.storage, systemActor(account), named)
  const send = (method: string, path: string, request: Request = {}) =>
    app.send(method, `/api/v1${path}`, { key, ...request })
  const stored = async (path: string, json: Json = {}) => {
    const { status, body, text } = await send('POST', path, { json })
    assert.equal(status, 201, text)
    return body.data
  }
  const domain = await stored('/domains', { name: `${mark}.example.com`, homepage_url: `https://acme.com/${mark}` })
  const space = await stored('/spaces', { name: `Space ${mark}` })
  const url = `https://acme.com/${mark}?utm_source=${mark}`
  const link = await stored('/links', { url, alias: mark, title: mark, space_id: space.id, tags: [mark] })
  const deleted = await stored('/links', { url: `https://acme.com/${mark}`, alias: `${mark}-deleted` })
  const further = await stored(`/links/${link.id}/addresses`, { alias: `${mark}-2` })
  const body = `url,short_url\nhttps://acme.com/,${domain.name}/${mark}-3\n`
  const planned = await send('POST', '/imports', { body, headers: { 'content-type': 'text/csv' } })
  const deletedDomain = await stored('/domains', { name: `${mark}.deleted.example.com` })
  for (const path of [`/links/${deleted.id}`, `/domains/${deletedDomain.id}`])
    assert.equal((await send('DELETE', path)).status, 204)
  const day = Math.floor(Date.now() / 86_400_000)
  const values = { referrers: `${mark}.example` }
  await addClicks(app.storage, link.id, day, dayWith([{ hour: 0, kind: 'people', values }]))
  const { browser, ...people } = await addPeople(account, mark)
  const keys = async () => (await listKeys(app.storage, account)).map(({ id, revoked_at }) => [id, revoked_at])
  const state = async () => {
    const lists = ['links?archived=any', 'domains', 'spaces', 'tags', 'stats?name=clicks'].map(
      async (name) => (await send('GET', `/${name}`)).body,
    )
    const rows = [rowsOf('members', account), rowsOf('invitations', account), rowsOf('sessions', account)]
    return [await Promise.all(lists), await keys(), await Promise.all(rows)]
  }
  const ids = {
    links: [link.id, deleted.id],
    addresses: [further.id],
    import: [planned.body.data.id],
    domains: [domain.id, deletedDomain.id],
    spaces: [space.id],
    tags: idsOf((await send('GET', '/tags')).body.data),
    events: idsOf((await send('GET', '/events?per_page=100')).body.data),
    keys: idsOf(await listKeys(app.storage, account)),
    ...people,
  }
  return { browser, send, account, mark, ids, state }
}

const [mine, theirs] = [await owner('mine4711'), await owner('theirs0815')]
const routes = app.router.declared.filter(
  ({ template, method }) => /^\/app(?:\/|$)/.test(template) && method !== 'HEAD' && !template.endsWith('*'),
)
const withId = routes.filter(({ template }) => template.includes(':id'))

/** Ids of an account for each path parameter. */
function idsFor(template: string, { ids: of }: Owner = theirs): readonly number[] {
  const [, resource = ''] = /(\w+)\/:id/.exec(template) ?? []
  const ids = { ...of, members: of.people, imports: of.import }[resource as keyof Owner['ids']]
  assert.ok(ids, `${template}: say in this test which ids the path has`)
  return ids
}

function assertNothingOf(other: Owner, { text, headers }: Pick<Visited, 'text' | 'headers'>, asked: string): void {
  assert.ok(!text.includes(other.mark), `${asked} shows something of the other`)
  assert.ok(!JSON.stringify(headers).includes(other.mark), asked)
}

const told = ({ status, text }: Answer) => [status, text.replaceAll(/"request_id":"[^"]*"|\d+/g, '')]

test("returns 404 for every operation with another account's id, like for an unknown one", async () => {
  const before = await theirs.state()
  const further = String(theirs.ids.addresses[0])
  for (const { method, path } of operations.filter((each) => each.path.includes(':id'))) {
    // Errors of parameters, fields and conditions come after 404.
    const ask = (id: number) =>
      mine.send(method, `${path.replace(':id', String(id)).replace(':address_id', further)}?zzz=1`, {
        ...(method.startsWith('P') && { json: { zzz: 1 } }),
        ...(method !== 'POST' && { headers: { 'if-match': '"x"', 'if-none-match': '"x"' } }),
      })
    const unknown = await ask(999_999_999)
    for (const id of idsFor(path)) {
      const answer = await ask(id)
      assertProblem(answer, 404, 'not_found')
      assert.deepEqual(told(answer), told(unknown), `${method} ${path}`)
    }
  }
  assert.deepEqual(await theirs.state(), before)
})

test('no list has an id or a value of another account', async () => {
  const [member] = theirs.ids.people
  const [{ batch_id }] = (await theirs.send('GET', '/events')).body.data
  const filters = ['', 'search=example', 'per_page=100&sort=asc']
  const ofEvents = [`actor=member&actor_id=${member}`, `record=member&record_id=${member}`, `batch_id=${batch_id}`]
  for (const { id, path } of operations.filter((each) => each.method === 'GET' && !each.path.includes(':'))) {
    for (const query of [...filters, ...ofEvents]) {
      const { text } = await mine.send('GET', `${path}?${query}`)
      assert.ok(!text.includes(theirs.mark), `${path}?${query}`)
      if (query === '' && !/Stats|Imports/.test(id)) assert.ok(text.includes(mine.mark), path)
      if (ofEvents.includes(query) && path === '/events') assert.deepEqual(JSON.parse(text).data, [])
    }
  }
})

test("returns 404 for every page and form with another account's id", async () => {
  const before = await theirs.state()
  const own = await mine.state()
  const form = { version: '1', name: 'x' }
  for (const { method, template } of withId) {
    const ask = (path: string) => (method === 'GET' ? mine.browser.get(path) : mine.browser.post(path, form))
    for (const id of idsFor(template)) {
      const path = template
        .replace(':id', String(id))
        .replace(':address_id', String(theirs.ids.addresses[0]))
        .replace(':host', `${mine.mark}.example`)
      const answer = await ask(path)
      // Deleted records look like records that never existed.
      if (template.endsWith('/restore')) assert.equal(answer.headers.location, `/app/${template.split('/')[2]}`)
      else assert.equal(answer.status, 404, `${method} ${path}`)
      assertNothingOf(theirs, answer, path)
      const same = await ask(path.replace(/\/\d+(?=\/|$)/, '/99999'))
      assert.deepEqual(told(same), told(answer), path)
    }
  }
  assert.deepEqual([await theirs.state(), await mine.state()], [before, own])
})

/** Opens every page of an account, and asserts that it shows only records of this account, and no others. */
async function assertPagesOf(own: Owner, browser: Browser, check: (answer: Visited, path: string) => void) {
  const pages = routes.filter(
    ({ method, template }) =>
      method === 'GET' && !/(?:selected|undo|sessions|options|links\/import)$|static|oidc/.test(template),
  )
  // Passkeys are a person's own.
  for (const { template } of pages.filter((page) => browser === own.browser || !page.template.includes('passkeys'))) {
    const id = template.includes(':id') ? idsFor(template, own)[0] : ''
    const path = template
      .replace(':id', String(id))
      .replace(':address_id', String(own.ids.addresses[0]))
      .replace(':host', `${own.mark}.example`)
    const answer = await browser.get(path)
    assert.equal(answer.status, 200, path)
    check(answer, path)
    if (String(answer.headers['content-type']).startsWith('text/html') && !/sign-in|join/.test(path)) {
      assert.ok(answer.text.includes(own.mark), path)
    }
  }
}

test('every page shows only the records of its account', () =>
  assertPagesOf(mine, mine.browser, (answer, path) => assertNothingOf(theirs, answer, path)))

test('someone in two accounts sees only the name of the other, and switches to it', async () => {
  const browser = new Browser(app)
  const [, id = 0] = mine.ids.people
  const token = await insertLoginToken(app.storage, { account: mine.account, id })
  assert.equal((await browser.post('/app/sign-in', { token })).status, 303)
  for (const [here, there] of [
    [mine, theirs],
    [theirs, mine],
  ] as const) {
    await assertPagesOf(here, browser, ({ text, headers }, path) =>
      assertNothingOf(there, { text: text.replaceAll(`Account ${there.mark}`, ''), headers }, path),
    )
    const history = (await browser.open('/app/history')).text
    assert.ok(history.includes(`Both ${here.mark}`))
    assert.equal((await browser.post('/app/switch', { account: String(there.account) })).status, 303)
  }
  const stranger = { account: String(theirs.account) }
  const refused = await mine.browser.post('/app/switch', stranger)
  const unknown = await mine.browser.post('/app/switch', { account: '99999' })
  assert.deepEqual([refused.status, unknown.status], [404, 404])
  assertNothingOf(theirs, refused, '/app/switch')
})

/** Forms and URLs that refer to records of the other account by a field. */
const { links, domains, spaces } = theirs.ids
const idText = fc.constantFrom(...[theirs.account, ...Object.values(theirs.ids).flat()].map(String))
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
  confirmed color tags into role email session person member keep_keys token`.split(/\s+/)
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

test('shows and undoes no change of another account', async () => {
  const [before, [{ id, batch_id }]] = [await theirs.state(), (await theirs.send('GET', '/events')).body.data]
  const [member] = theirs.ids.people
  for (const query of [
    `batch_id=${batch_id}`,
    `actor=member&actor_id=${member}`,
    `record=link&record_id=${links[0]}`,
  ]) {
    assertNothingOf(theirs, await mine.browser.get(`/app/history?${query}`), query)
  }
  for (const [form, status] of [
    [{ event: String(id) }, 404],
    [{ batch: batch_id }, 303],
  ] as const) {
    const answer = await mine.browser.post('/app/history/undo', form)
    assert.equal(answer.status, status)
    assertNothingOf(theirs, answer, JSON.stringify(form))
  }
  assert.deepEqual(await theirs.state(), before)
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
