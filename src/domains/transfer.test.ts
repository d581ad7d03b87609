import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { newStorage } from '../../test/engine.ts'
import { importText } from '../../test/import-text.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { transferables } from '../cli/transfer.ts'
import { encodePng } from '../qr/image.ts'
import { findQrStyle, storeQrStyle } from '../qr/store.ts'
import { exportRecords } from '../transfer/export.ts'
import { findDomainByName, insertDomain } from './store.ts'

async function place(t: TestContext) {
  const storage = await newStorage((work) => t.after(work))
  return { storage, account: (await createAccount(storage, 'Acme')).id }
}

test('an export has the QR style of each domain, and an import stores it', async (t) => {
  const [from, to] = [await place(t), await place(t)]
  const urls = { homepage_url: null, not_found_url: null }
  const data = deflateSync(Buffer.from([0, 1, 2, 3, 4]))
  const logo = encodePng({ width: 1, height: 1, format: 'rgba', data })
  const styles = [
    null,
    { dark: '#0b5c6b', background: '#fff4e0', margin: 2, logo },
    { dark: '#000000', background: '#ffffff', margin: 0, logo: null },
  ]
  for (const [index, style] of styles.entries()) {
    const name = `${index}.example`
    const { record } = await insertDomain(from.storage, systemActor(from.account), { name, nameUnicode: name }, urls)
    if (style !== null) assert.ok(await storeQrStyle(from.storage, systemActor(from.account), record.id, style))
  }
  const lines = await Array.fromAsync(exportRecords(from.storage, from.account, transferables))
  for (const expected of [
    { stored: 3, known: 0, reasons: [] },
    { stored: 0, known: 3, reasons: [] },
  ]) {
    assert.partialDeepStrictEqual(await importText(to.storage, lines.join('')), expected)
  }
  for (const [index, style] of styles.entries()) {
    const domain = await findDomainByName(to.storage, to.account, `${index}.example`)
    assert.deepEqual(await findQrStyle(to.storage, to.account, domain?.id ?? 0), style ?? undefined)
  }
})

test('no style is stored for a domain of another account', async (t) => {
  const { storage, account } = await place(t)
  const { id: stranger } = await createAccount(storage, 'Other')
  const urls = { homepage_url: null, not_found_url: null }
  const { record } = await insertDomain(
    storage,
    systemActor(account),
    { name: 'a.example', nameUnicode: 'a.example' },
    urls,
  )
  const style = { dark: '#000000', background: '#ffffff', margin: 0, logo: null }
  assert.equal(await storeQrStyle(storage, systemActor(stranger), record.id, style), false)
  assert.equal(await findQrStyle(storage, account, record.id), undefined)
})

test('a stored logo stays when a style without a logo is stored', async (t) => {
  const { storage, account } = await place(t)
  const urls = { homepage_url: null, not_found_url: null }
  const { record } = await insertDomain(
    storage,
    systemActor(account),
    { name: 'a.example', nameUnicode: 'a.example' },
    urls,
  )
  const [style, logo] = [{ dark: '#000000', background: '#ffffff', margin: 0 }, Buffer.from('logo')]
  await storeQrStyle(storage, systemActor(account), record.id, style)
  for (const change of [
    { ...style, logo },
    { ...style, margin: 2 },
  ]) {
    await storeQrStyle(storage, systemActor(account), record.id, change)
    assert.deepEqual(await findQrStyle(storage, account, record.id), { ...change, logo })
  }
})
