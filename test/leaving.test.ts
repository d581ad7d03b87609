/** Whoever leaves an account loses everything on both nodes of a database, and a changed role counts on both. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { commandActor, createActor } from '../src/access/actor.ts'
import { scopesOfRole } from '../src/access/roles.ts'
import { createAccount } from '../src/accounts/store.ts'
import { createKey } from '../src/keys/store.ts'
import { createInvitation, findInvitationByToken } from '../src/members/invitations.ts'
import { selectOwners } from '../src/members/store.ts'
import { insertLoginToken } from '../src/sessions/store.ts'
import type { Storage } from '../src/storage/port.ts'
import type { Json } from './client.ts'
import { Browser } from './dashboard.ts'
import { newMember } from './members.ts'
import { eventually, newBench } from './processes.ts'
import { runs } from './runs.ts'
import { databaseOn, startTwo, storageAt, type VisitedServer } from './visited-server.ts'

/** Within this time, a change takes effect on every process. Milliseconds. */
const promised = 10_000

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`leaving on ${engine}`, () => {
    const bench = newBench()
    let storage: Storage
    let nodes: readonly [VisitedServer, VisitedServer]

    before(async () => {
      const variables = await databaseOn(bench, engine)
      nodes = await startTwo(bench, variables)
      storage = await storageAt(bench, variables)
      await newMember(storage, 1)
    })

    /** Someone who uses the second node in every way. */
    async function someone(name: string) {
      const [, there] = nodes
      const member = await newMember(storage, 1, { name })
      const actor = createActor({ ...member, kind: 'member', name, scopes: scopesOfRole('owner') }, null)
      const { secret: key } = await createKey(storage, actor, { name, scopes: ['*'], lifetimeMs: null })
      const [byLink, byKey] = [new Browser(there), await new Browser(there).signIn(key)]
      await byLink.post('/app/sign-in', { token: await insertLoginToken(storage, member) })
      const link = await insertLoginToken(storage, member)
      const { secret } = await createInvitation(storage, actor, { role: 'owner', name: null, email: null })
      const stateOf = async () => {
        const statuses = [await byLink.get('/app'), await byKey.get('/app'), await there.ask('GET', '/me', { key })]
        return statuses.map(({ status }) => status)
      }
      // The node now has the key in its cache.
      assert.deepEqual(await stateOf(), [200, 200, 200])
      /** Returns whether someone can still get in with a link: these uses are the last. */
      const linksWork = async () => {
        const { status } = await new Browser(there).post('/app/sign-in', { token: link })
        return [status === 303, (await findInvitationByToken(storage, secret)) !== undefined]
      }
      return { id: member.id, key, stateOf, linksWork }
    }

    test('whoever is removed on one node has no access on the other within 10 seconds', async (t) => {
      const [here, there] = nodes
      const [ben, eve, cleo, dan] = [
        await someone('Ben'),
        await someone('Eve'),
        await someone('Cleo'),
        await someone('Dan'),
      ]
      const removedAt = performance.now()
      for (const path of [`/members/${ben.id}`, `/members/${cleo.id}?keys=keep`]) {
        assert.equal((await here.ask('DELETE', path)).status, 204)
      }
      for (const person of [ben, cleo]) {
        assert.deepEqual((await person.stateOf()).slice(0, 1), [303], 'A session ends immediately.')
        assert.deepEqual(await person.linksWork(), [false, false])
      }
      await eventually(async () => (await there.ask('GET', '/me', { key: ben.key })).status === 401, promised)
      const { body } = await there.ask('GET', '/me', { key: ben.key })
      assert.equal(body.code, 'revoked_api_key')
      assert.deepEqual(await ben.stateOf(), [303, 303, 401])
      t.diagnostic(`Everything ended within ${Math.round(performance.now() - removedAt)} ms`)
      // By now, no node has the keys in its cache from before.
      assert.deepEqual(await cleo.stateOf(), [303, 200, 200])
      assert.equal((await there.ask('GET', '/me', { key: cleo.key })).body.data.member, null)
      assert.deepEqual(
        [await eve.stateOf(), await eve.linksWork()],
        [
          [200, 200, 200],
          [true, true],
        ],
      )
      const owner = new Browser(here)
      await owner.post('/app/sign-in', { token: await insertLoginToken(storage, { account: 1, id: eve.id }) })
      await owner.save(`/app/people/${dan.id}/remove`)
      assert.deepEqual([(await dan.stateOf())[0], await dan.linksWork()], [303, [false, false]])
      await eventually(async () => (await dan.stateOf()).join() === '303,303,401', promised)
    })

    test('whoever’s access ends has no access on any node within 10 seconds', async () => {
      const [here] = nodes
      const [ben, eve] = [await someone('Ben'), await someone('Eve')]
      const end = (member: { readonly id: number }, inMs: number) => {
        const json = { access_ends_at: new Date(Date.now() + inMs).toISOString() }
        return here.ask('PATCH', `/members/${member.id}`, { json })
      }
      assert.equal((await end(eve, 100_000)).status, 200)
      assert.equal((await end(ben, 1_000)).status, 200)
      await eventually(async () => (await ben.stateOf()).join() === '303,303,401', 1_000 + promised)
      assert.deepEqual(await ben.linksWork(), [false, false])
      assert.deepEqual(await eve.stateOf(), [200, 200, 200])
      const { body } = await here.ask('GET', `/events?type=member.removed&record=member&record_id=${ben.id}`)
      assert.deepEqual(
        body.data.map(({ actor }: Json) => actor.kind),
        ['system'],
      )
    })

    test('a role that is changed on one node counts on the other', async () => {
      const [here, there] = nodes
      const member = await newMember(storage, 1, { name: 'Flo', role: 'viewer' })
      const flo = new Browser(there)
      await flo.post('/app/sign-in', { token: await insertLoginToken(storage, member) })
      const store = async () => (await flo.post('/app/spaces', { name: 'Flo’s' })).status
      for (const [role, status] of [
        ['viewer', 403],
        ['editor', 303],
        ['owner', 303],
        ['viewer', 403],
      ] as const) {
        assert.equal((await here.ask('PATCH', `/members/${member.id}`, { json: { role } })).status, 200)
        assert.equal(await store(), status, role)
      }
    })

    test('an account keeps an owner, whatever both nodes do to the last two at the same time', async () => {
      const account = await createAccount(storage, 'Race')
      const command = commandActor(account.id, 'test')
      const { secret: key } = await createKey(storage, command, { name: 'race', scopes: ['*'], lifetimeMs: null })
      const changes = [undefined, { role: 'viewer' }, { access_ends_at: '2999-01-01T00:00:00Z' }]
      let last = await newMember(storage, account.id)
      for (let round = 0; round < runs(20, 6); round++) {
        const next = await newMember(storage, account.id)
        const tries = [last, next].map(({ id }, at) => {
          const { ask } = nodes[at] as VisitedServer
          const json = changes[(round + 2 * at + Math.floor(round / 3)) % 3]
          const path = `/members/${id}`
          return json === undefined ? ask('DELETE', path, { key }) : ask('PATCH', path, { key, json })
        })
        const answers = await Promise.all(tries)
        const codes = answers.map(({ status, body }) => (status < 300 ? 'done' : body.code))
        assert.deepEqual(codes.toSorted(), ['done', 'last_owner'])
        const owners = await storage.execute(selectOwners(account.id))
        last = codes[0] === 'done' ? next : last
        assert.deepEqual(owners, [{ id: last.id }])
      }
    })
  })
}
