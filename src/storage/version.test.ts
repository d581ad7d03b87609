/** Versions of records in the stores, and concurrent changes. */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { newLocation, newStorage } from '../../test/engine.ts'
import { createAccount } from '../accounts/store.ts'
import { changeDomain, findDomain, insertDomain, removeDomain } from '../domains/store.ts'
import { preconditionFailed } from '../errors.ts'
import { changeSpace, findSpace, insertSpace, removeSpace } from '../spaces/store.ts'
import type { SqliteLocation } from './location.ts'
import { openStorage } from './open.ts'
import type { Db, Storage } from './port.ts'
import type { Precondition, Versioned } from './version.ts'

interface Record {
  readonly id: number
  readonly updated_at: string
}

interface Store {
  insert(db: Db, account: number): Promise<Versioned<Record>>
  find(db: Db, account: number, id: number): Promise<Versioned<Record> | undefined>
  /** Sets a value that is unique for `n`. */
  change(
    db: Db,
    account: number,
    id: number,
    n: number,
    when?: Precondition | null,
  ): Promise<Versioned<Record> | undefined>
  /** Changes another column. */
  changeElse(db: Db, account: number, id: number): Promise<Versioned<Record> | undefined>
  remove(db: Db, account: number, id: number, when: Precondition | null): Promise<boolean>
}

const name = { name: 'go.acme.com', nameUnicode: 'go.acme.com' }
const stores: Readonly<{ domain: Store; space: Store }> = {
  domain: {
    insert: (db, account) => insertDomain(db, account, name, { homepage_url: null, not_found_url: null }),
    find: findDomain,
    change: (db, account, id, n, when = null) =>
      changeDomain(db, account, id, { homepage_url: `https://a.com/${n}` }, when),
    changeElse: (db, account, id) => changeDomain(db, account, id, { not_found_url: 'https://b.com' }, null),
    remove: removeDomain,
  },
  space: {
    insert: (db, account) => insertSpace(db, account, { name: 'Space', color: 1 }),
    find: findSpace,
    change: (db, account, id, n, when = null) => changeSpace(db, account, id, { name: `Space ${n}` }, when),
    changeElse: (db, account, id) => changeSpace(db, account, id, { color: 6 }, null),
    remove: removeSpace,
  },
}

async function opened(t: TestContext): Promise<{ storage: Storage; account: number }> {
  const storage = await newStorage((work) => t.after(work))
  return { storage, account: (await createAccount(storage, 'Acme')).id }
}

const only = (version: string): Precondition => ({
  check: (present) => {
    if (present !== version) throw preconditionFailed(present)
  },
})

for (const [what, store] of Object.entries(stores)) {
  test(`returns two versions for two changes of a ${what} within a millisecond`, async (t) => {
    const { storage, account } = await opened(t)
    const { record } = await store.insert(storage, account)
    await storage.write(async (tx) => {
      let before = await store.change(tx, account, record.id, 0)
      for (let n = 1; ; n++) {
        const after = await store.change(tx, account, record.id, n)
        assert.notEqual(after?.version, before?.version)
        if (after?.record.updated_at === before?.record.updated_at) return
        before = after
      }
    })
  })

  test(`returns different versions for a change of a ${what} before and after a backup is restored`, async (t) => {
    const location = await newLocation((work) => t.after(work), 'sqlite')
    const { path } = location as SqliteLocation
    const storage = await openStorage(location)
    const account = (await createAccount(storage, 'Acme')).id
    const { record } = await store.insert(storage, account)
    await storage.close()
    copyFileSync(path, `${path}.backup`)
    const versions: (string | undefined)[] = []
    for (const file of [path, `${path}.backup`]) {
      const again = await openStorage({ engine: 'sqlite', path: file })
      t.after(() => again.close())
      versions.push((await store.change(again, account, record.id, 1))?.version)
      while (new Date().toISOString() <= String((await store.find(again, account, record.id))?.record.updated_at));
    }
    assert.notEqual(versions[0], versions[1])
  })

  test(`stores all concurrent changes of a ${what}`, async (t) => {
    const { storage, account } = await opened(t)
    const { record } = await store.insert(storage, account)
    const changes = Array.from({ length: 30 }, (_, n) => store.change(storage, account, record.id, n))
    await Promise.all([store.changeElse(storage, account, record.id), ...changes])
    const last = await store.find(storage, account, record.id)
    assert.match(String(last?.version), /^32-/)
    assert.deepEqual(await store.changeElse(storage, account, record.id), last)
  })

  test(`runs one of many changes and deletions of a ${what} that require the same version`, async (t) => {
    const { storage, account } = await opened(t)
    const { record, version } = await store.insert(storage, account)
    const asked = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0
        ? store.change(storage, account, record.id, n, only(version)).then((changed) => changed !== undefined)
        : store.remove(storage, account, record.id, only(version)),
    )
    const outcomes = await Promise.allSettled(asked)
    assert.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length, 1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'precondition_failed')
    }
  })
}
