/** Three accounts sign in and out at random times. Each has exactly the sessions of a simple model. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newStorage } from '../../test/engine.ts'
import { runs } from '../../test/runs.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey, revokeKey } from '../keys/store.ts'
import type { Storage } from '../storage/port.ts'
import {
  findSession,
  insertLoginToken,
  listSessions,
  removeSession,
  removeSessions,
  signInByKey,
  signInByToken,
} from './store.ts'
import { sessionLifetimeMs } from './token.ts'

const accounts = 3

interface Step {
  readonly verb: keyof ReturnType<typeof actionsOf>
  readonly who: number
  /** Selects a token or a session, which may belong to another account. */
  readonly which: number
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom(
    ...(['createLink', 'createLink', 'useLink', 'useLink', 'useKey', 'useKey', 'revoke', 'remove', 'remove'] as const),
    ...(['removeAll', 'removeOthers', 'wait'] as const),
  ),
  who: fc.nat({ max: accounts - 1 }),
  which: fc.nat({ max: 1_000 }),
})

interface Known {
  readonly owner: number
  readonly endsAt: number
}

interface KnownSession extends Known {
  readonly id: number
  readonly secret: string
  readonly key: number | null
}

/** The expected sessions of new accounts. */
interface Model {
  readonly storage: Storage
  readonly ids: readonly number[]
  readonly keys: number[]
  readonly tokens: (Known & { token: string; isUsed: boolean })[]
  sessions: KnownSession[]
  readonly ended: KnownSession[]
  now: number
}

/** Returns what a step does in the store and in the model. */
function actionsOf(model: Model, { who, which }: Pick<Step, 'who' | 'which'>) {
  const { storage, tokens, keys, ids } = model
  const account = ids[who] as number
  const chosen = model.sessions[which % Math.max(1, model.sessions.length)]
  const add = async (owner: number, key: number | null, secret: string) => {
    const session = (await findSession(storage, secret, model.now)) ?? assert.fail('The session is not open.')
    assert.equal(session.account.id, owner)
    model.sessions.push({ owner, key, id: session.id, secret, endsAt: model.now + sessionLifetimeMs })
  }
  const end = (isOver: (session: KnownSession) => boolean) => {
    model.ended.push(...model.sessions.filter(isOver))
    model.sessions = model.sessions.filter((session) => !isOver(session))
  }
  const removeAll = async (except: number | null) => {
    await removeSessions(storage, account, except)
    end(({ id, owner }) => owner === account && id !== except)
  }
  return {
    createLink: async () => {
      const token = await insertLoginToken(storage, account, { now: model.now })
      tokens.push({ owner: account, token, endsAt: model.now + 30 * 60_000, isUsed: false })
    },
    useLink: async () => {
      const link = tokens[which % Math.max(1, tokens.length)]
      if (link === undefined) return
      const secret = await signInByToken(storage, link.token, 'x', model.now)
      assert.equal(secret === undefined, link.isUsed || link.endsAt <= model.now)
      link.isUsed = true
      if (secret !== undefined) await add(link.owner, null, secret)
    },
    useKey: async () => {
      const key = keys[who] as number
      await add(account, key, await signInByKey(storage, account, key, 'x', model.now))
    },
    /** Another account cannot revoke the key. The account then gets a new key. */
    revoke: async () => {
      const key = keys[who] as number
      const other = ids[(who + 1) % accounts] as number
      await assert.rejects(revokeKey(storage, systemActor(other), key), { code: 'not_found' })
      assert.notEqual((await revokeKey(storage, systemActor(account), key)).revoked_at, null)
      end((session) => session.key === key)
      keys[who] = await newKey(storage, account)
    },
    remove: async () => {
      if (chosen === undefined) return
      assert.equal(await removeSession(storage, account, chosen.id), chosen.owner === account)
      end(({ id, owner }) => id === chosen.id && owner === account)
    },
    removeAll: () => removeAll(null),
    removeOthers: () => removeAll(chosen?.id ?? null),
    wait: async () => {
      model.now += which % 2 === 0 ? 20 * 60_000 : sessionLifetimeMs / 2
      end(({ endsAt }) => endsAt <= model.now)
    },
  }
}

async function check({ storage, ids, sessions, ended, now }: Model): Promise<void> {
  for (const account of ids) {
    const listed = await listSessions(storage, account, now)
    const own = sessions.filter(({ owner }) => owner === account)
    assert.deepEqual(listed.map(({ id }) => id).sort(), own.map(({ id }) => id).sort())
  }
  for (const { secret, id, owner } of sessions) {
    const found = await findSession(storage, secret, now)
    assert.deepEqual([found?.id, found?.account.id], [id, owner])
  }
  for (const { secret } of ended) assert.equal(await findSession(storage, secret, now), undefined)
}

async function newKey(storage: Storage, account: number): Promise<number> {
  return (await createKey(storage, systemActor(account), { name: 'mine', scopes: ['*'], lifetimeMs: null })).key.id
}

test('isolates sessions by account', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const ids: number[] = []
      for (const name of ['A', 'B', 'C']) ids.push((await createAccount(storage, name)).id)
      const keys: number[] = []
      for (const account of ids) keys.push(await newKey(storage, account))
      const now = Date.parse('2026-01-01T00:00:00.000Z')
      const model: Model = { storage, ids, keys, tokens: [], sessions: [], ended: [], now }
      for (const step of steps) await actionsOf(model, step)[step.verb]()
      await check(model)
    }),
    { numRuns: runs(30, 15) },
  )
})
