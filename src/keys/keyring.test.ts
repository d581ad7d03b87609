import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { createAccount } from '../accounts/store.ts'
import type { Storage } from '../storage/port.ts'
import { Keyring } from './keyring.ts'
import { createKey, listKeys } from './store.ts'

async function open(t: TestContext): Promise<{ storage: Storage; issue: (count: number) => Promise<string[]> }> {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const issue = (count: number) =>
    storage.write(async (tx) => {
      const secrets: string[] = []
      for (let n = 0; n < count; n++) {
        const { secret } = await createKey(tx, { account, name: 'ci', scopes: ['*'], lifetimeMs: null })
        secrets.push(secret)
      }
      return secrets
    })
  return { storage, issue }
}

test('so many keys are remembered; one more takes the place of the one remembered longest', async (t) => {
  const { storage, issue } = await open(t)
  const keyring = new Keyring(storage, 100)
  t.after(() => keyring.close())
  const [first = '', ...others] = await issue(101)
  for (const secret of others) await keyring.identify(secret)
  const [second = '', third = ''] = others
  const isRemembered = (secret: string) => !(keyring.identify(secret) instanceof Promise)
  assert.ok(isRemembered(second))
  await keyring.identify(first)
  assert.ok(isRemembered(first))
  assert.ok(isRemembered(third))
  assert.ok(!isRemembered(second))
})

test('the last use is written down when the keyring is closed', async (t) => {
  const { storage, issue } = await open(t)
  const keyring = new Keyring(storage)
  const [used = ''] = await issue(2)
  await keyring.identify(used)
  await keyring.close()
  const [first, second] = await listKeys(storage, null)
  assert.match(String(first?.last_used_at), /^\d{4}-.*Z$/)
  assert.equal(second?.last_used_at, null)
})

test('uses that cannot be written down are no failure, and are written down the next time', async (t) => {
  const { storage, issue } = await open(t)
  const [used = ''] = await issue(1)
  let isAvailable = false
  const db: Storage = Object.create(storage, {
    all: { value: storage.all.bind(storage) },
    write: { value: (...args: Parameters<Storage['write']>) => (isAvailable ? storage.write(...args) : refuse()) },
  })
  const refuse = () => Promise.reject(new Error('not now'))
  const keyring = new Keyring(db)
  await keyring.identify(used)
  await keyring.close()
  assert.equal((await listKeys(storage, null))[0]?.last_used_at, null)
  isAvailable = true
  await keyring.close()
  assert.notEqual((await listKeys(storage, null))[0]?.last_used_at, null)
})
