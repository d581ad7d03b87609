/**
 * People of three accounts sign in, switch accounts, leave and sign out at random times. Each account, person and key has
 * exactly the sessions of a simple model.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newStorage } from '../../test/engine.ts'
import { newMember } from '../../test/members.ts'
import { runs } from '../../test/runs.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey, revokeKey } from '../keys/store.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import {
  findSession,
  insertLoginToken,
  listSessions,
  removeSession,
  removeSessions,
  type SessionOwner,
  signInByKey,
  signInByToken,
  signInMember,
  switchAccount,
} from './store.ts'
import { sessionLifetimeMs } from './token.ts'

const accounts = 3

interface Step {
  readonly verb: keyof ReturnType<typeof actionsOf>
  readonly who: number
  /** Selects a member, a token or a session, which may belong to another account. */
  readonly which: number
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom(
    ...(['join', 'join', 'leave', 'createLink', 'useLink', 'useLink', 'usePasskey', 'usePasskey', 'useKey'] as const),
    ...(['revoke', 'switch', 'switch', 'switch', 'end', 'end', 'endOfMember', 'endOwn', 'endOthers', 'wait'] as const),
  ),
  who: fc.nat({ max: accounts - 1 }),
  which: fc.nat({ max: 1_000 }),
})

interface KnownMember {
  readonly id: number
  readonly account: number
  readonly person: number
}

interface KnownSession {
  readonly id: number
  readonly secret: string
  readonly endsAt: number
  /** A member, or a key with its account. */
  owner: KnownMember | { readonly account: number; readonly key: number }
}

/** The expected members and sessions of new accounts. */
interface Model {
  readonly storage: Storage
  readonly ids: readonly number[]
  readonly keys: number[]
  members: KnownMember[]
  readonly left: KnownMember[]
  readonly tokens: { readonly member: KnownMember; readonly token: string; readonly endsAt: number; isUsed: boolean }[]
  sessions: KnownSession[]
  readonly ended: KnownSession[]
  now: number
}

const pick = <T>(from: readonly T[], which: number) => from[which % Math.max(1, from.length)]

/** Returns whose own sessions include a session. */
const selfOf = ({ owner }: KnownSession): SessionOwner => ('key' in owner ? owner : { person: owner.person })

function isOf(owner: SessionOwner, { owner: of }: KnownSession): boolean {
  if ('person' in owner) return 'person' in of && of.person === owner.person
  if (owner.account !== of.account) return false
  return 'key' in owner ? 'key' in of && of.key === owner.key : 'id' in of && of.id === owner.member
}

/** Returns what a step does in the store and in the model. */
function actionsOf(model: Model, { who, which }: Pick<Step, 'who' | 'which'>) {
  const { storage, tokens, keys, ids, now } = model
  const account = ids[who] as number
  const chosen = pick(model.sessions, which)
  const member = pick(model.members, which)
  const add = async (owner: KnownSession['owner'], secret: string) => {
    const session = (await findSession(storage, secret, now)) ?? assert.fail('The session is not open.')
    model.sessions.push({ owner, id: session.id, secret, endsAt: now + sessionLifetimeMs })
  }
  const end = (isOver: (session: KnownSession) => boolean) => {
    const over = model.sessions.filter(isOver)
    model.ended.push(...over)
    model.sessions = model.sessions.filter((session) => !over.includes(session))
    return over.length
  }
  const endAll = async (owner: SessionOwner, except: number | null) => {
    const ended = await removeSessions(storage, owner, except, now)
    assert.equal(
      ended,
      end((each) => isOf(owner, each) && each.id !== except),
    )
  }
  return {
    /** Adds a new person, or one who is in another account. */
    join: async () => {
      const known = which % 2 === 0 ? undefined : member?.person
      if (model.members.some((each) => each.account === account && each.person === known)) return
      const { id } = await newMember(storage, account, known === undefined ? {} : { person: known })
      const row = query.selectFrom('members').select('person_id').where('id', '=', id)
      model.members.push({ id, account, person: (await storage.execute(row))[0]?.person_id ?? 0 })
    },
    leave: async () => {
      if (member === undefined) return
      await storage.execute(query.deleteFrom('members').where('id', '=', member.id))
      model.members = model.members.filter((each) => each !== member)
      model.left.push(member)
      end(({ owner }) => owner === member)
    },
    createLink: async () => {
      if (member === undefined) return
      const token = await insertLoginToken(storage, member, { now })
      tokens.push({ member, token, endsAt: now + 30 * 60_000, isUsed: false })
    },
    useLink: async () => {
      const link = pick(tokens, which)
      if (link === undefined) return
      const secret = await signInByToken(storage, link.token, 'x', now)
      assert.equal(secret === undefined, link.isUsed || link.endsAt <= now || model.left.includes(link.member))
      link.isUsed = true
      if (secret !== undefined) await add(link.member, secret)
    },
    usePasskey: async () => {
      const method = { method: 'passkey', browser: 'x', now } as const
      const gone = pick(model.left, which)
      if (gone !== undefined) await assert.rejects(signInMember(storage, gone, method), { code: 'not_found' })
      if (member === undefined) return
      await assert.rejects(signInMember(storage, { ...member, account: account + 1_000 }, method), {
        code: 'not_found',
      })
      await add(member, await signInMember(storage, member, method))
    },
    useKey: async () => {
      const key = keys[who] as number
      await add({ account, key }, String(await signInByKey(storage, account, key, 'x', now)))
    },
    /** Another account cannot revoke the key. The account then gets a new key. */
    revoke: async () => {
      const key = keys[who] as number
      const other = ids[(who + 1) % accounts] as number
      await assert.rejects(revokeKey(storage, systemActor(other), key), { code: 'not_found' })
      assert.notEqual((await revokeKey(storage, systemActor(account), key)).revoked_at, null)
      end(({ owner }) => 'key' in owner && owner.key === key)
      keys[who] = await newKey(storage, account)
    },
    /** Switches a session to another account, of which its person may not be a member. */
    switch: async () => {
      if (chosen === undefined) return
      const { owner } = chosen
      const person = 'person' in owner ? owner.person : (member?.person ?? 0)
      const target = model.members.find((each) => each.account === account && each.person === person)
      const isMoved = await switchAccount(storage, chosen.id, person, account)
      assert.equal(isMoved, target !== undefined && 'person' in owner)
      if (target !== undefined && isMoved) chosen.owner = target
      const stranger = model.members.find((each) => each.person !== person)
      if (stranger === undefined) return
      assert.equal(await switchAccount(storage, chosen.id, stranger.person, stranger.account), false)
    },
    /** Ends a session as its owner, or as someone else, who can't. */
    end: async () => {
      if (chosen === undefined) return
      const other: SessionOwner = which % 3 === 0 ? selfOf(chosen) : { account, member: member?.id ?? 0 }
      assert.equal(await removeSession(storage, other, chosen.id), isOf(other, chosen))
      if (isOf(other, chosen)) end(({ id }) => id === chosen.id)
    },
    /** Ends the sessions that a member has in an account, which may be another one. */
    endOfMember: async () => {
      if (member !== undefined) await endAll({ account, member: member.id }, null)
    },
    /** Ends the sessions of a person in all accounts, or those of a key. */
    endOwn: async () => {
      if (chosen !== undefined) await endAll(selfOf(chosen), null)
    },
    endOthers: async () => {
      if (chosen !== undefined) await endAll(selfOf(chosen), chosen.id)
    },
    wait: async () => {
      model.now += which % 2 === 0 ? 20 * 60_000 : sessionLifetimeMs / 2
      end(({ endsAt }) => endsAt <= model.now)
    },
  }
}

async function check({ storage, members, left, sessions, ended, ids, keys, now }: Model): Promise<void> {
  const all = [...members, ...left]
  const owners: SessionOwner[] = [
    ...ids.flatMap((account) => all.map(({ id }) => ({ account, member: id }))),
    ...ids.flatMap((account) => keys.map((key) => ({ account, key }))),
    ...all.map(({ person }) => ({ person })),
  ]
  for (const owner of owners) {
    const listed = await listSessions(storage, owner, now)
    const own = sessions.filter((session) => isOf(owner, session))
    assert.deepEqual(listed.map(({ id }) => id).sort(), own.map(({ id }) => id).sort())
  }
  for (const { secret, id, owner } of sessions) {
    const found = await findSession(storage, secret, now)
    assert.deepEqual([found?.id, found?.account.id], [id, owner.account])
    const whose = [found?.key?.id, found?.member?.id, found?.member?.person.id]
    assert.deepEqual(whose, 'key' in owner ? [owner.key, undefined, undefined] : [undefined, owner.id, owner.person])
  }
  for (const { secret } of ended) assert.equal(await findSession(storage, secret, now), undefined)
}

async function newKey(storage: Storage, account: number): Promise<number> {
  return (await createKey(storage, systemActor(account), { name: 'mine', scopes: ['*'], lifetimeMs: null })).key.id
}

test('isolates sessions by account, person and key', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 60, size: 'max' }), async (steps) => {
      const ids: number[] = []
      for (const name of ['A', 'B', 'C']) ids.push((await createAccount(storage, name)).id)
      const keys: number[] = []
      for (const account of ids) keys.push(await newKey(storage, account))
      const now = Date.parse('2026-01-01T00:00:00.000Z')
      const model: Model = {
        ...{ storage, ids, keys, now },
        members: [],
        left: [],
        tokens: [],
        sessions: [],
        ended: [],
      }
      for (const who of [0, 1, 1, 2]) await actionsOf(model, { who, which: who }).join()
      for (const step of steps) await actionsOf(model, step)[step.verb]()
      await check(model)
    }),
    { numRuns: runs(600, 30) },
  )
})
