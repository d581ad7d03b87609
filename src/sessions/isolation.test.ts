/** Three accounts sign in and out at random, while time goes by. Each has exactly the sessions that a naive model says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newStorage } from '../../test/engine.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey, revokeOwnKey } from '../keys/store.ts'
import type { Storage } from '../storage/port.ts'
import {
  findSession,
  insertLoginToken,
  listSessions,
  removeSession,
  removeSessions,
  sessionLifetimeMs,
  signInByKey,
  signInByToken,
} from './store.ts'

const accounts = 3

interface Step {
  readonly verb: 'link' | 'use link' | 'use key' | 'revoke' | 'remove' | 'remove all' | 'remove others' | 'wait'
  readonly who: number
  /** Chooses one of all tokens or sessions that there ever were. */
  readonly which: number
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom(
    ...(['link', 'link', 'use link', 'use link', 'use key', 'use key', 'revoke', 'remove', 'remove'] as const),
    ...(['remove all', 'remove others', 'wait'] as const),
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

/** The expected sessions of new accounts, and the store. */
class Run {
  readonly #storage: Storage
  readonly #ids: readonly number[]
  readonly #keys: number[]
  readonly #tokens: (Known & { token: string; isUsed: boolean })[] = []
  #sessions: KnownSession[] = []
  readonly #gone: KnownSession[] = []
  #now = Date.parse('2026-01-01T00:00:00.000Z')

  constructor(storage: Storage, ids: readonly number[], keys: readonly number[]) {
    this.#storage = storage
    this.#ids = ids
    this.#keys = [...keys]
  }

  async take({ verb, who, which }: Step): Promise<void> {
    const account = this.#ids[who] as number
    if (verb === 'link') await this.#makeLink(account)
    if (verb === 'use link') await this.#useLink(which)
    if (verb === 'use key') await this.#useKey(account, this.#keys[who] as number)
    if (verb === 'revoke') await this.#revoke(account, who)
    if (verb === 'remove') await this.#remove(account, which)
    if (verb === 'remove all') await this.#removeAll(account, null)
    if (verb === 'remove others') await this.#removeAll(account, this.#chosen(which)?.id ?? null)
    if (verb === 'wait') this.#wait(which % 2 === 0 ? 20 * 60_000 : sessionLifetimeMs / 2)
  }

  async check(): Promise<void> {
    for (const account of this.#ids) {
      const listed = await listSessions(this.#storage, account, this.#now)
      const own = this.#sessions.filter(({ owner }) => owner === account)
      assert.deepEqual(listed.map(({ id }) => id).sort(), own.map(({ id }) => id).sort())
    }
    for (const { secret, id, owner } of this.#sessions) {
      const found = await findSession(this.#storage, secret, this.#now)
      assert.deepEqual([found?.id, found?.account.id], [id, owner])
    }
    for (const { secret } of this.#gone) assert.equal(await findSession(this.#storage, secret, this.#now), undefined)
  }

  async #makeLink(owner: number): Promise<void> {
    const token = await insertLoginToken(this.#storage, owner, undefined, this.#now)
    this.#tokens.push({ owner, token, endsAt: this.#now + 30 * 60_000, isUsed: false })
  }

  async #useLink(which: number): Promise<void> {
    const link = this.#tokens[which % Math.max(1, this.#tokens.length)]
    if (link === undefined) return
    const begun = await signInByToken(this.#storage, link.token, 'x', this.#now)
    assert.equal(begun?.account_id, link.isUsed || link.endsAt <= this.#now ? undefined : link.owner)
    link.isUsed = true
    if (begun !== undefined) this.#add(link.owner, null, begun)
  }

  async #useKey(owner: number, key: number): Promise<void> {
    this.#add(owner, key, await signInByKey(this.#storage, owner, key, 'x', this.#now))
  }

  /** No other account can; then the account gets another key. */
  async #revoke(account: number, who: number): Promise<void> {
    const key = this.#keys[who] as number
    const other = this.#ids[(who + 1) % accounts] as number
    await assert.rejects(revokeOwnKey(this.#storage, other, key), { code: 'not_found' })
    assert.notEqual((await revokeOwnKey(this.#storage, account, key)).revoked_at, null)
    this.#end((session) => session.key === key)
    this.#keys[who] = await newKey(this.#storage, account)
  }

  async #remove(account: number, which: number): Promise<void> {
    const session = this.#chosen(which)
    if (session === undefined) return
    assert.equal(await removeSession(this.#storage, account, session.id), session.owner === account)
    this.#end(({ id, owner }) => id === session.id && owner === account)
  }

  async #removeAll(account: number, except: number | null): Promise<void> {
    await removeSessions(this.#storage, account, except)
    this.#end(({ id, owner }) => owner === account && id !== except)
  }

  #wait(milliseconds: number): void {
    this.#now += milliseconds
    this.#end(({ endsAt }) => endsAt <= this.#now)
  }

  #add(owner: number, key: number | null, { id, secret }: { readonly id: number; readonly secret: string }): void {
    this.#sessions.push({ owner, key, id, secret, endsAt: this.#now + sessionLifetimeMs })
  }

  #chosen(which: number): KnownSession | undefined {
    return this.#sessions[which % Math.max(1, this.#sessions.length)]
  }

  #end(isOver: (session: KnownSession) => boolean): void {
    this.#gone.push(...this.#sessions.filter(isOver))
    this.#sessions = this.#sessions.filter((session) => !isOver(session))
  }
}

async function newKey(storage: Storage, account: number): Promise<number> {
  return (await createKey(storage, { account, name: 'mine', scopes: ['*'], lifetimeMs: null })).key.id
}

test('isolates sessions by account', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const ids: number[] = []
      for (const name of ['A', 'B', 'C']) ids.push((await createAccount(storage, name)).id)
      const keys: number[] = []
      for (const account of ids) keys.push(await newKey(storage, account))
      const run = new Run(storage, ids, keys)
      for (const step of steps) await run.take(step)
      await run.check()
    }),
    { numRuns: 30 },
  )
})
