/** Versions of records in the stores, also where transactions overlap, which those of SQLite never do. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createAccount } from '../accounts/store.ts'
import { changeDomain, findDomain, insertDomain, removeDomain } from '../domains/store.ts'
import { preconditionFailed } from '../errors.ts'
import { changeSpace, findSpace, insertSpace, removeSpace } from '../spaces/store.ts'
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
  /** To a value that no other number makes. */
  change(
    db: Db,
    account: number,
    id: number,
    n: number,
    when?: Precondition | null,
  ): Promise<Versioned<Record> | undefined>
  /** Changes what `change` leaves alone. */
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
    insert: (db, account) => insertSpace(db, account, 'Space', 1),
    find: findSpace,
    change: (db, account, id, n, when = null) => changeSpace(db, account, id, { name: `Space ${n}` }, when),
    changeElse: (db, account, id) => changeSpace(db, account, id, { color: 6 }, null),
    remove: removeSpace,
  },
}

async function opened(t: TestContext): Promise<{ storage: Storage; account: number; path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  const path = join(folder, 'test.db')
  const storage = await openStorage({ engine: 'sqlite', path })
  t.after(async () => {
    await storage.close()
    rmSync(folder, { recursive: true })
  })
  return { storage, account: (await createAccount(storage, 'Acme')).id, path }
}

const only = (version: string): Precondition => ({
  check: (present) => {
    if (present !== version) throw preconditionFailed(present)
  },
})

/** The database as it is where transactions overlap: after the first thing that `db` reads, another changes it. */
function overlapped(db: Db, other: (db: Db) => Promise<unknown>): Db {
  let isDone = false
  const within = (tx: Db): Db => ({
    all: async (statement, params) => {
      const rows = await tx.all(statement, params)
      if (isDone) return rows
      isDone = true
      await other(tx)
      return rows
    },
    write: (work) => work(within(tx)),
    list: (listing) => tx.list(listing),
  })
  return { ...within(db), write: (work) => db.write((tx) => work(within(tx))) }
}

for (const [what, store] of Object.entries(stores)) {
  test(`two changes of a ${what} within one millisecond make two versions`, async (t) => {
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

  test(`a change of a ${what} that a backup did not have is never taken for the one made after it was put back`, async (t) => {
    const { storage, account, path } = await opened(t)
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

  test(`a change of a ${what} loses nothing that another transaction changed in between`, async (t) => {
    const { storage, account } = await opened(t)
    const { record } = await store.insert(storage, account)
    const db = overlapped(storage, (tx) => store.changeElse(tx, account, record.id))
    const changed = await store.change(db, account, record.id, 1)
    const expected = await store.changeElse(storage, account, record.id)
    assert.deepEqual(changed, expected)
    assert.match(String(changed?.version), /^3-/)
  })

  test(`a change and a deletion of a ${what} fail when another transaction changes it after it was looked at`, async (t) => {
    const { storage, account } = await opened(t)
    const { record, version } = await store.insert(storage, account)
    for (const ask of [
      (db: Db) => store.change(db, account, record.id, 1, only(version)),
      (db: Db) => store.remove(db, account, record.id, only(version)),
    ]) {
      const db = overlapped(storage, (tx) => store.changeElse(tx, account, record.id))
      await assert.rejects(ask(db), { code: 'precondition_failed' })
      assert.equal((await store.find(storage, account, record.id))?.version, version)
    }
  })

  test(`a change and a deletion of a ${what} find nothing when another transaction deletes it after it was looked at`, async (t) => {
    const { storage, account } = await opened(t)
    const gone = async (ask: (db: Db, id: number, version: string) => Promise<unknown>) => {
      const { record, version } = await store.insert(storage, account)
      const db = overlapped(storage, (tx) => store.remove(tx, account, record.id, null))
      return ask(db, record.id, version)
    }
    assert.equal(await gone((db, id, version) => store.change(db, account, id, 1, only(version))), undefined)
    assert.equal(await gone((db, id, version) => store.remove(db, account, id, only(version))), false)
  })
}
