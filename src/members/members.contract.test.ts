import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { startApp } from '../../test/app.ts'
import type { Json, Request } from '../../test/client.ts'
import { signedIn } from '../../test/dashboard.ts'
import { newMember } from '../../test/members.ts'
import { createActor, type KeyScope } from '../access/actor.ts'
import { type Role, scopesOfRole } from '../access/roles.ts'
import { Failure } from '../errors.ts'
import { Keyring } from '../keys/keyring.ts'
import { createKey, revokeKey } from '../keys/store.ts'
import { insertLoginToken, type MemberId, signInMember } from '../sessions/store.ts'
import { query } from '../storage/schema.ts'

const app = await startApp()
const ask = (method: string, path: string, json?: object, request: Request = {}) =>
  app.send(method, `/api/v1${path}`, { ...(json && { json }), ...request })

/** A new account with an owner, and a key that can do everything. */
async function newAccount() {
  const account = await app.createAccount()
  const owner = await newMember(app.storage, account, { name: 'Ana', email: 'ana@acme.com' })
  const key = await app.createKey({ account })
  const as = (method: string, path: string, json?: object, request: Request = {}) =>
    ask(method, path, json, { key, ...request })
  const add = (name: string, role: Role = 'editor', email: string | null = null) =>
    newMember(app.storage, account, { name, role, email })
  return { account, owner, key, as, add }
}

const told = ({ status, body }: { readonly status: number; readonly body: Json }) => [status, body.code]
const { as, add, owner } = await newAccount()

/** Issues a key as a member. */
function keyOf({ account, id }: MemberId, role: Role, scopes: readonly KeyScope[]) {
  const actor = createActor({ account, kind: 'member', id, name: 'Ben', scopes: scopesOfRole(role) }, null)
  return createKey(app.storage, actor, { name: 'ci', scopes, lifetimeMs: null })
}

describe('members', () => {
  test('200 with the record, its fields in order', async () => {
    const { status, body } = await as('GET', `/members/${owner.id}`)
    assert.equal(status, 200)
    const { created_at, updated_at, ...rest } = body.data
    const expected = {
      id: owner.id,
      name: 'Ana',
      email: 'ana@acme.com',
      role: 'owner',
      access_ends_at: null,
      sign_in: [],
      last_seen_at: null,
    }
    assert.deepEqual(Object.entries(rest), Object.entries(expected))
    assert.equal(created_at, updated_at)
  })

  test('lists are sorted by id or name, and searched in name and email', async () => {
    const { as, add } = await newAccount()
    await add('berta', 'viewer', 'Berta@Acme.com')
    await add('Émile', 'viewer', 'emile@other.com')
    const names = async (query: string) =>
      (await as('GET', `/members?${new URLSearchParams(query)}`)).body.data.map(({ name }: Json) => name)
    for (const [query, expected] of [
      ['', ['Émile', 'berta', 'Ana']],
      ['sort=asc&sort_by=name', ['Ana', 'berta', 'Émile']],
      ['search=ACME', ['berta', 'Ana']],
      ['search=ÉMI', ['Émile']],
      ['search=acme&search_by=name', []],
      ['search=emile@&search_by=email', ['Émile']],
      ['sort=asc&per_page=10&page=2', []],
    ] as const) {
      assert.deepEqual(await names(query), expected, query)
    }
    const { body } = await as('GET', '/members?sort=asc&after=1')
    assert.deepEqual([body.meta.total, body.meta.total_is_exact], [3, true])
    assert.deepEqual(told(await as('GET', '/members?sort_by=email')), [422, 'validation_failed'])
  })

  for (const method of ['PUT', 'PATCH']) {
    test(`${method} changes the role and the end of the access; the whole record can be sent back`, async () => {
      const ben = await add('Ben', 'viewer', 'ben@acme.com')
      const path = `/members/${ben.id}`
      const end = { access_ends_at: '2999-01-01T00:00:00.000Z' }
      assert.deepEqual((await as(method, path, end)).body.data.access_ends_at, end.access_ends_at)
      const changed = await as(method, path, { role: 'admin' })
      assert.deepEqual([changed.status, changed.body.data.role], [200, 'admin'])
      assert.equal(changed.body.data.access_ends_at, end.access_ends_at)
      const same = await as(method, path, changed.body.data)
      assert.deepEqual([same.status, same.body.data, same.headers.etag], [200, changed.body.data, changed.headers.etag])
      assert.deepEqual((await as(method, path)).body.data, changed.body.data)
      const wrong = { name: 'Eve', email: '', role: 'boss', access_ends_at: '2026-01-01 10:00', plan: 1 }
      const refused = await as(method, path, wrong)
      const violations = refused.body.violations.map(({ field, code }: Json) => [field, code])
      assert.deepEqual(violations, [
        ['role', 'not_allowed'],
        ['access_ends_at', 'not_in_future'],
        ['plan', 'unknown_field'],
        ['name', 'prohibited'],
        ['email', 'prohibited'],
      ])
      assert.deepEqual(told(await as(method, path, { role: '' })), [422, 'validation_failed'])
    })
  }

  test('409 last_owner for the only owner, after the checks of the fields and the condition', async () => {
    const path = `/members/${owner.id}`
    const end = { access_ends_at: '2999-01-01T00:00:00Z' }
    for (const answer of [
      await as('PATCH', path, { role: 'admin' }),
      await as('PATCH', path, end),
      await as('DELETE', path),
    ]) {
      assert.deepEqual(told(answer), [409, 'last_owner'])
      assert.deepEqual(answer.body.violations[0].code, 'last_owner')
    }
    const stale = { headers: { 'if-match': '"0"' } }
    const current = (await as('GET', path)).headers.etag
    for (const answer of [
      await as('PATCH', path, { role: 'admin' }, stale),
      await as('PATCH', path, { role: 'boss' }, stale),
      await as('DELETE', path, undefined, stale),
    ]) {
      assert.deepEqual([...told(answer), answer.headers.etag], [412, 'precondition_failed', current])
    }
    assert.deepEqual(told(await as('DELETE', `${path}?keys=all`)), [422, 'validation_failed'])
  })

  test('an owner whose access ends doesn’t count as another owner', async () => {
    const { as, add, owner } = await newAccount()
    const other = await add('Ben', 'owner')
    const end = { access_ends_at: '2999-01-01T00:00:00Z' }
    assert.equal((await as('PATCH', `/members/${other.id}`, end)).status, 200)
    for (const change of [{ role: 'admin' }, end]) {
      assert.deepEqual(told(await as('PATCH', `/members/${owner.id}`, change)), [409, 'last_owner'])
    }
    assert.equal((await as('PATCH', `/members/${other.id}`, { access_ends_at: null })).status, 200)
    assert.equal((await as('PATCH', `/members/${owner.id}`, end)).status, 200)
  })

  test('Waymark removes a member when their access ends, with their keys, unless the end was moved', async () => {
    const { account, as, add } = await newAccount()
    const [ben, cleo, dan] = [await add('Ben'), await add('Cleo'), await add('Dan')]
    const { secret } = await keyOf(ben, 'editor', ['links:read'])
    const endIn = (hours: number) => ({ access_ends_at: new Date(Date.now() + hours * 3_600_000).toISOString() })
    for (const member of [ben, cleo, dan]) await as('PATCH', `/members/${member.id}`, endIn(1))
    await as('PATCH', `/members/${cleo.id}`, endIn(48))
    await as('PATCH', `/members/${dan.id}`, { access_ends_at: null })
    const finish = (hours: number) =>
      actionsOn(app.storage, { now: () => Date.now() + hours * 3_600_000 }).jobs.finish()
    await finish(0.9)
    assert.equal((await as('GET', `/members/${ben.id}`)).status, 200)
    await finish(1.1)
    const statuses = [ben, cleo, dan].map(async ({ id }) => (await as('GET', `/members/${id}`)).status)
    assert.deepEqual(await Promise.all(statuses), [404, 200, 200])
    assert.deepEqual(told(await ask('GET', '/links', undefined, { key: secret })), [401, 'revoked_api_key'])
    const events = (await as('GET', '/events?type=member.removed')).body.data
    assert.deepEqual(
      events.map(({ record_name, actor }: Json) => [record_name, actor.kind, actor.name]),
      [['Ben', 'system', 'Waymark']],
    )
    assert.equal((await as('DELETE', `/members/${cleo.id}`)).status, 204)
    const jobs = query.selectFrom('jobs').select('id').where('account_id', '=', account)
    assert.deepEqual(await app.storage.execute(jobs), [])
  })

  test('the ETag changes when the member signs in, which does not break a change with If-Match', async () => {
    const ben = await add('Ben')
    const path = `/members/${ben.id}`
    const before = await as('GET', path)
    const unchanged = { headers: { 'if-none-match': before.headers.etag as string } }
    assert.equal((await as('GET', path, undefined, unchanged)).status, 304)
    await signInMember(app.storage, ben, { method: 'passkey', browser: 'Firefox' })
    const after = await as('GET', path, undefined, unchanged)
    assert.equal(after.status, 200)
    assert.ok(after.body.data.last_seen_at !== null)
    const match = { headers: { 'if-match': before.headers.etag as string } }
    assert.equal((await as('PATCH', path, { role: 'viewer' }, match)).status, 200)
    assert.deepEqual(told(await as('PATCH', path, { role: 'editor' }, match)), [412, 'precondition_failed'])
  })

  test('sign_in names the ways, without other members’ ways', async () => {
    const ben = await add('Ben')
    const own = query.selectFrom('members').select('person_id').where('id', '=', ben.id)
    const person = query.updateTable('people').where('id', 'in', own)
    await app.storage.execute(person.set({ oidc_issuer: 'https://id.acme.com', oidc_subject: String(ben.id) }))
    assert.deepEqual((await as('GET', `/members/${ben.id}`)).body.data.sign_in, ['oidc'])
    assert.deepEqual((await as('GET', `/members/${owner.id}`)).body.data.sign_in, [])
  })

  for (const query of ['', '?keys=keep']) {
    test(`DELETE ${query} ends the keys of the member, unless they are kept`, async () => {
      const ben = await add('Ben', 'admin')
      await insertLoginToken(app.storage, ben)
      const { secret } = await keyOf(ben, 'admin', ['links:read'])
      const me = async () => (await ask('GET', '/me', undefined, { key: secret })).body
      assert.deepEqual((await me()).data.member, { id: ben.id, name: 'Ben', role: 'admin' })
      const { status } = await as('DELETE', `/members/${ben.id}${query}`)
      assert.equal(status, 204)
      assert.deepEqual(told(await as('DELETE', `/members/${ben.id}${query}`)), [404, 'not_found'])
      const { body } = await as('GET', '/events?per_page=10')
      const [last] = body.data
      const batch = body.data.filter(({ batch_id }: Json) => batch_id === last.batch_id)
      const types = batch.map(({ type }: Json) => type)
      assert.deepEqual(types, query === '' ? ['key.revoked', 'member.removed'] : ['member.removed'])
      assert.ok(batch.every(({ undoable_until }: Json) => undoable_until === null))
      if (query !== '') assert.equal((await me()).data.member, null)
    })
  }
})

describe('invitations', () => {
  test('201 with the record, its location and a url whose secret is not shown again', async () => {
    const json = { role: 'editor', name: ' Ben ', email: 'ben@acme.com' }
    const created = await as('POST', '/invitations', json)
    const { id, url, expires_at, created_at, ...rest } = created.body.data
    assert.equal(created.status, 201)
    assert.deepEqual(rest, { ...json, name: 'Ben', access_ends_at: null, created_by: null })
    assert.match(url, new RegExp(`^${app.origin}/app/join#wmi_[\\w-]{43}$`))
    assert.equal(Date.parse(expires_at) - Date.parse(created_at), 7 * 24 * 60 * 60 * 1_000)
    assert.equal(created.headers.location, `${app.origin}/api/v1/invitations/${id}`)
    const shown = await as('GET', `/invitations/${id}`)
    assert.deepEqual(shown.body.data, { id, ...rest, expires_at, created_at })
    assert.equal(shown.headers.etag, created.headers.etag)
    assert.deepEqual((await as('GET', '/invitations')).body.data[0], shown.body.data)
    const dump = JSON.stringify([await app.storage.execute(query.selectFrom('events').selectAll()), app.logs])
    assert.ok(!dump.includes(url.split('#')[1]))
  })

  test('an invitation has the end of the access, and expires then at the latest', async () => {
    const invite = async (inMs: number) => {
      const access_ends_at = new Date(Date.now() + inMs).toISOString()
      const { data } = (await as('POST', '/invitations', { role: 'viewer', access_ends_at })).body
      assert.equal(data.access_ends_at, access_ends_at)
      return data
    }
    const [soon, late] = [await invite(3_600_000), await invite(30 * 24 * 3_600_000)]
    assert.equal(soon.expires_at, soon.access_ends_at)
    assert.ok(late.expires_at < late.access_ends_at)
    const past = await as('POST', '/invitations', { role: 'viewer', access_ends_at: '2026-01-01T00:00:00Z' })
    assert.deepEqual([past.status, past.body.violations[0].code], [422, 'not_in_future'])
    await as('DELETE', `/invitations/${soon.id}`)
    await as('DELETE', `/invitations/${late.id}`)
  })

  test('a repeated request with an Idempotency-Key creates one invitation, and its response has no url', async () => {
    const request = { headers: { 'idempotency-key': 'invite-1' } }
    const first = await as('POST', '/invitations', { role: 'viewer' }, request)
    const second = await as('POST', '/invitations', { role: 'viewer' }, request)
    const { url, ...record } = first.body.data
    assert.deepEqual([second.status, second.body.data], [201, record])
    assert.equal(second.headers['idempotency-replayed'], 'true')
    const stored = await app.storage.execute(query.selectFrom('stored_responses').select('body'))
    assert.ok(!JSON.stringify(stored).includes('wmi_') && url.includes('wmi_'))
    const reused = await as('POST', '/invitations', { role: 'owner' }, request)
    assert.deepEqual(told(reused), [422, 'idempotency_key_reused'])
  })

  test('422 for bad fields and for the 101st invitation', async () => {
    const { as } = await newAccount()
    const long = 'x'.repeat(256)
    const { body } = await as('POST', '/invitations', { name: long, email: long, plan: 1 })
    const violations = body.violations.map(({ field, code }: Json) => `${field} ${code}`)
    assert.deepEqual(violations, ['role required', 'name too_long', 'email too_long', 'plan unknown_field'])
    for (const email of ['ana', 'ana@', '@acme.com', 'ana @acme.com', 'ana@acme@com']) {
      const { body } = await as('POST', '/invitations', { role: 'viewer', email })
      assert.deepEqual(body.errors, {
        email: ['The email must be an email address, such as ana@example.com.'],
      })
    }
    for (let i = 0; i < 100; i++) assert.equal((await as('POST', '/invitations', { role: 'viewer' })).status, 201)
    const refused = await as('POST', '/invitations', { role: 'viewer' })
    assert.deepEqual([...told(refused), refused.body.violations[0].code], [422, 'validation_failed', 'too_many'])
    assert.equal((await as('GET', '/invitations?per_page=100')).body.meta.total, 100)
  })

  test('204 deletes an invitation once, under a condition', async () => {
    const { body, headers } = await as('POST', '/invitations', { role: 'viewer' })
    const path = `/invitations/${body.data.id}`
    const stale = await as('DELETE', path, undefined, { headers: { 'if-match': '"0"' } })
    assert.deepEqual([...told(stale), stale.headers.etag], [412, 'precondition_failed', headers.etag])
    assert.equal((await as('DELETE', path, undefined, { headers: { 'if-match': headers.etag as string } })).status, 204)
    for (const method of ['GET', 'DELETE']) assert.deepEqual(told(await as(method, path)), [404, 'not_found'])
    const [event] = (await as('GET', '/events?type=invitation.deleted')).body.data
    assert.deepEqual([event.record_id, event.changes.role], [body.data.id, ['viewer', null]])
  })
})

test('members create keys only with scopes of their role', async () => {
  for (const [role, scopes, needed] of [
    ['admin', ['links:write'], null],
    ['admin', ['members:read', 'members:write'], 'owner'],
    ['admin', ['*'], 'owner'],
    ['editor', ['links:read', 'domains:write'], 'admin'],
    ['viewer', ['links:write', 'members:write'], 'owner'],
    ['owner', ['*'], null],
  ] as const) {
    const member = await add('Ben', role)
    if (needed === null) {
      const { key } = await keyOf(member, role, scopes)
      await revokeKey(
        app.storage,
        createActor({ ...member, kind: 'system', id: null, name: '', scopes: ['*'] }, null),
        key.id,
      )
      continue
    }
    await assert.rejects(keyOf(member, role, scopes), {
      ...{ code: 'insufficient_scope', message: `Your role doesn’t allow this. It needs the role ${needed}.` },
    })
  }
})

test('a member with a lower role keeps no way back: keys lose scopes, invitations end, and key sessions too', async () => {
  const { as, add } = await newAccount()
  const ben = await add('Ben', 'owner')
  const { secret: key } = await keyOf(ben, 'owner', ['*'])
  const browser = await signedIn({ ...app, key })
  const invite = () => ask('POST', '/invitations', { role: 'owner' }, { key })
  const { body } = await invite()
  const promotion = () => ask('PATCH', `/members/${ben.id}`, { role: 'owner' }, { key })

  await as('PATCH', `/members/${ben.id}`, { role: 'editor' })
  // The key is still cached with its former scopes.
  for (const answer of [
    await promotion(),
    await invite(),
    await ask('DELETE', `/members/${ben.id}`, undefined, { key }),
  ]) {
    assert.deepEqual(told(answer), [403, 'insufficient_scope'])
  }
  assert.equal((await as('GET', `/invitations/${body.data.id}`)).status, 404)
  assert.equal((await browser.get('/app')).headers.location, '/app/sign-in?next=%2Fapp')
  const scopes = async () => (await ask('GET', '/me', undefined, { key })).body.data.scopes
  assert.deepEqual(
    (await scopes()).filter((scope: string) => scope.endsWith(':write')),
    ['spaces:write', 'tags:write', 'links:write', 'imports:write'],
  )
  const identity = await new Keyring(app.storage).identify(key)
  assert.ok(!(identity instanceof Failure) && !identity.scopes.includes('*') && identity.scopes.includes('links:write'))

  await as('PATCH', `/members/${ben.id}`, { role: 'owner' })
  assert.deepEqual(await scopes(), ['*'])
  await as('PATCH', `/members/${ben.id}`, { role: 'viewer' })
  await as('DELETE', `/members/${ben.id}?keys=keep`)
  assert.ok(!(await scopes()).some((scope: string) => scope === '*' || scope.endsWith(':write')))
})
