import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { newDomain } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { eventsOfRecord, lockEvents } from '../events/store.ts'
import { findQrStyle, keptQrStyle, removeQrStyle, restoreQrStyle, storeQrStyle } from './store.ts'
import { plainStyle, type StoredQrStyle } from './style.ts'

async function place(t: TestContext) {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const domain = await newDomain(storage, account, 'go.acme.com')
  const events = () => eventsOfRecord(storage, account, { record: 'domain', id: domain }, 10)
  return { storage, account, actor: systemActor(account), domain, events }
}

const style = { dark: '#0b5c6b', background: '#fff4e0', margin: 2, logo: Buffer.from('logo') }
const { logo: _, ...looks } = style

test('stores each change of the style as an event of the domain, which shows no logo', async (t) => {
  const { storage, actor, domain, events } = await place(t)
  const before = (await events()).length
  await storeQrStyle(storage, actor, domain, looks)
  await storeQrStyle(storage, actor, domain, style)
  await storeQrStyle(storage, actor, domain, { ...style, logo: Buffer.from('other') })
  await removeQrStyle(storage, actor, domain)
  const stored = (await events()).slice(0, -before || undefined)
  const [without, shown] = [
    { ...looks, logo: false },
    { ...looks, logo: true },
  ]
  const changes = [
    [null, without],
    [without, shown],
    [shown, shown],
    [shown, null],
  ].map((qr_style) => ({ qr_style }))
  assert.deepEqual(
    stored.map((event) => event.changes),
    changes.toReversed(),
  )
  assert.ok(stored.every(({ action, name }) => action === 'updated' && name === 'go.acme.com'))
})

test('stores no event if the style stays', async (t) => {
  const { storage, actor, domain, events, account } = await place(t)
  const before = (await events()).length
  await storeQrStyle(storage, actor, domain, plainStyle)
  await removeQrStyle(storage, actor, domain)
  assert.deepEqual([(await events()).length, await findQrStyle(storage, account, domain)], [before, undefined])
  await storeQrStyle(storage, actor, domain, style)
  await storeQrStyle(storage, actor, domain, looks)
  assert.equal((await events()).length, before + 1)
})

test('restores a style that an event has kept, with its logo', async (t) => {
  const { storage, actor, account, domain, events } = await place(t)
  await storeQrStyle(storage, actor, domain, style)
  await removeQrStyle(storage, actor, domain)
  const [{ id } = { id: 0 }] = await events()
  const [removal] = await storage.write((tx) => lockEvents(tx, account, [id], { waits: true }))
  const { qr_style: kept = [] } = (removal?.kept ?? {}) as { qr_style?: StoredQrStyle[] }
  assert.equal(kept[1], null)
  await restoreQrStyle(storage, account, domain, kept[0] ?? null)
  assert.deepEqual(await findQrStyle(storage, account, domain), style)
  assert.deepEqual(await keptQrStyle(storage, account, domain), kept[0])
  await restoreQrStyle(storage, account, domain, null)
  assert.equal(await keptQrStyle(storage, account, domain), null)
})
