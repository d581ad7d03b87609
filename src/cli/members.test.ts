import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newPlace, typed } from '../../test/command-line.ts'
import { newMember } from '../../test/members.ts'
import { createActor } from '../access/actor.ts'
import { createKey } from '../keys/store.ts'
import { findInvitationByToken, joinAccount } from '../members/invitations.ts'
import { insertPerson } from '../members/store.ts'
import { findSession, type MemberId, signInByToken } from '../sessions/store.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

const newKey = (storage: Storage, { account, id }: MemberId, name: string) => {
  const ben = createActor({ account, kind: 'member', id, name: 'Ben', scopes: ['*'] }, null)
  return createKey(storage, ben, { name, scopes: ['*'], lifetimeMs: null })
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`invites, lists, changes and removes a member: ${engine}`, async (t) => {
    const { storage, run, say, json } = await newPlace(t, engine)
    await newMember(storage, 1, { name: 'Ana' })
    const { stdout, stderr } = await run('invitations create --role editor --name Ben --email Ben@acme.com')
    assert.match(stderr, /^Nothing is listening on http:\/\/localhost:3000\./)
    const [, token = ''] = /^http:\/\/localhost:3000\/app\/join#(wmi_[\w-]{43})\n$/.exec(stdout) ?? []
    assert.equal((await findInvitationByToken(storage, token))?.role, 'editor')
    const [invitation] = await json('invitations list')
    assert.deepEqual([invitation.name, invitation.created_by], ['Ben', null])
    assert.match(
      await say('invitations list'),
      /^ID +NAME +EMAIL +ROLE +CREATED BY +EXPIRES\n1 +Ben +Ben@acme\.com +editor +- +2/,
    )
    const person = await insertPerson(storage, null)
    const ben = await storage.write((tx) => joinAccount(tx, { token, person, name: 'Ben' }, null))
    assert.equal(await say('members role ben@ACME.com --role admin'), 'Ben has the role admin.')
    await storage.execute(query.updateTable('members').set({ has_oidc_role: 1 }).where('id', '=', ben.id))
    assert.match((await run(`members role ${ben.id} --role admin`)).stderr, /^OIDC_ROLES sets the role .*\n$/)
    assert.match(await say('members list --search ben'), /\n\d+ +Ben +Ben@acme\.com +admin +- +never +-$/)
    await newKey(storage, ben, 'ci')
    const question = 'Remove Ben? The keys that they created are revoked. [y/N] '
    const refused = await run(`members remove ${ben.id}`, typed(['n\n']))
    assert.deepEqual(refused, { code: 1, stdout: 'No one removed.\n', stderr: question })
    assert.equal((await json(`members remove ${ben.id} --yes`)).email, 'Ben@acme.com')
    assert.equal((await json('keys list'))[0].status, 'revoked')
    assert.equal((await json('members list')).length, 1)
  })

  test(`forgets a removed member, and no one else: ${engine}`, async (t) => {
    const { storage, run, say, json, fails } = await newPlace(t, engine)
    await newMember(storage, 1, { name: 'Ana' })
    const { stdout } = await run('invitations create --role admin --name Benjamin --email ben@acme.com')
    const token = stdout.trim().replace(/^.*#/, '')
    const person = await insertPerson(storage, null)
    const ben = await storage.write((tx) => joinAccount(tx, { token, person, name: 'Ben' }, null))
    await newKey(storage, ben, 'program')
    await run('invitations create --role viewer --email BEN@acme.com')
    await run('invitations create --role viewer --name Carl')
    await say(`members role ${ben.id} --role editor`)
    await fails(
      `members forget ${ben.id}`,
      1,
      `Ben is still a member. First, run "npx waymark members remove ${ben.id}".`,
    )
    await say(`members remove ${ben.id} --keys keep --yes`)
    for (let round = 0; round < 2; round++) {
      assert.equal(await say(`members forget ${ben.id}`), `The history no longer names member ${ben.id}.`)
      const shown = JSON.stringify([await json('history --limit 1000'), await json('keys list')])
      assert.ok(!/ben|null,null/i.test(shown), shown)
      assert.ok(shown.includes('"Removed member"') && shown.includes('"Carl"') && shown.includes('"Ana"'))
    }
    const [key] = await json('keys list')
    assert.deepEqual([key.created_by, key.status], ['Removed member', 'active'])
  })
}

test('signs in a member by ID or email', async (t) => {
  const { storage, run, fails } = await newPlace(t)
  const [ana, ben] = [await newMember(storage, 1), await newMember(storage, 1, { name: 'Ben', email: 'Ben@acme.com' })]
  for (const [reference, { id }] of [
    [ben.id, ben],
    ['ben@acme.com', ben],
    [ana.id, ana],
  ] as const) {
    const { stdout } = await run(`login-link --member ${reference} --json`)
    const { url, member_id } = JSON.parse(stdout)
    const secret = await signInByToken(storage, new URL(url).hash.slice(1), 'Firefox')
    assert.deepEqual([(await findSession(storage, String(secret)))?.member?.id, member_id], [id, id])
  }
  await newMember(storage, 1, { name: 'Ben', email: 'ben@acme.com' })
  await fails(
    'login-link --member ben@acme.com',
    2,
    /^--member: Several members have the email address ben@acme\.com\. /,
  )
})

test('rejects what the API rejects, with the exit codes 1 and 2', async (t) => {
  const { storage, say, run, fails } = await newPlace(t)
  const { id } = await newMember(storage, 1)
  await run('invitations create --role viewer')
  const noMember = 'The account has no member "7". To see all members, run "npx waymark members list".'
  const lastOwner = 'This is the account’s only owner. Make another member an owner first.'
  for (const [line, code, message] of [
    [`members role ${id} --role viewer`, 1, `--role: ${lastOwner}`],
    [`members remove ${id} --yes`, 1, lastOwner],
    ['members role 7 --role viewer', 1, `MEMBER: ${noMember}`],
    ['login-link --member 7', 1, `--member: ${noMember}`],
    ['members forget 7', 1, 'There is no such removed member in the history.'],
    ['invitations revoke 7', 1, 'There is no such invitation.'],
    ['invitations revoke x', 2, 'ID must be the ID of an invitation.'],
    ['members forget x', 2, 'ID must be the ID of a removed member.'],
    [`members role ${id}`, 2, /^Nothing to change\./],
    [`members role ${id} --role boss`, 2, /^--role: The role must be one of viewer, editor, admin, owner\./],
    [`members remove ${id} --keys all --yes`, 2, /^--keys: The keys must be keep\./],
    [
      `members remove ${id}`,
      2,
      /^Remove Ana\? The keys that they created are revoked\.\nCan't ask without a terminal\./,
    ],
    ['invitations create', 2, '--role is required.'],
    ['login-link --name Ben', 2, /^Sign-in links are for members\. .+ "npx waymark invitations create"\.$/],
  ] as const) {
    await fails(line, code, message)
  }
  assert.equal(await say('invitations revoke 1'), 'Invitation 1 was revoked.')
  for (let i = 0; i < 100; i++) await run('invitations create --role viewer')
  await fails('invitations create --role viewer', 1, 'The account has 100 open invitations. Delete one first.')
})
