import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newFolder } from '../../test/processes.ts'
import { createActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { insertDomain } from '../domains/store.ts'
import type { LinkRow } from '../links/schema.ts'
import { linkEvents } from '../links/schema.ts'
import { openSqlite } from '../storage/sqlite/open.ts'
import { createdEvent } from './event.ts'
import { formatChanges, parseChanges } from './stored-changes.ts'

test('stores the event of a new link in at most 250 bytes', async (t) => {
  const path = join(newFolder(t), 'waymark.db')
  const storage = await openSqlite(path)
  t.after(() => storage.close())
  const { id: account } = await createAccount(storage, 'Acme')
  const key = { account, kind: 'key', id: 12, name: 'Production key', scopes: ['*'] } as const
  const name = 'go.acme.com'
  await insertDomain(storage, createActor(key, null), { name, nameUnicode: name }, {})
  using database = new DatabaseSync(path)
  const stored = () => {
    const [row] = database.prepare(`select sum(payload) as bytes from dbstat where name = 'events'`).all()
    return Number(row?.bytes)
  }
  const before = stored()
  const { links } = actionsOn(storage).actions
  const fields = { url: 'https://example.com/articles/autumn-sale-1', title: 'Autumn sale, page 1 ' }
  assert.ok(fields.url.length >= 40 && fields.title.length === 20)
  for (let n = 100; n < 200; n++) {
    const insert = await links.insertion(createActor(key, `X2jz9pQ0fTqk-${n}`), fields)
    await insert(storage)
  }
  const bytes = (stored() - before) / 100
  assert.ok(bytes <= 250, `${bytes} bytes`)
})

const link: LinkRow = {
  ...{
    id: 1,
    domain_id: 2,
    domain_name: 'go.acme.com',
    space_id: 3,
    alias: 'sale',
    title: null,
    tags: null,
    notes: null,
  },
  ...{
    url: 'https://example.com/',
    disabled: 0,
    archived: 0,
    exact: 0,
    legacy: 0,
    forward_query: 0,
    redirect_status: 302,
  },
  ...{
    active_period_start_at: null,
    active_period_end_at: null,
    clicks_limit: null,
    expiration_url: null,
    rules: null,
  },
  ...{ redirect_password: null, clicks: 0, last_clicked_ms: null, created_at: '', updated_at: '' },
}

for (const [title, values] of Object.entries({
  'only needed': {},
  other: { disabled: 1, archived: 1, exact: 1, forward_query: 1, redirect_status: 307, tags: 'a,b', title: 'A' },
  all: {
    ...{ title: 'A', notes: 'B', clicks_limit: 1, expiration_url: 'https://example.com/', redirect_password: 'hash' },
    ...{ active_period_start_at: '2026', active_period_end_at: '2027', addresses: '[{"id":1}]' },
    rules: '[{"conditions":[],"url":"https://example.com/"}]',
  },
}))
  test(`shows all values of a new link that has ${title} values, as events of earlier versions do`, () => {
    const event = createdEvent(linkEvents, { ...link, ...values })
    const text = formatChanges(event)
    assert.ok(String(text).length < JSON.stringify(event.changes).length)
    for (const stored of [text, JSON.stringify(event.changes)]) {
      const changes = parseChanges('link', stored)
      assert.deepEqual(changes, event.changes)
      assert.deepEqual(Object.keys(changes ?? {}), Object.keys(event.changes ?? {}))
    }
  })

test('stores other changes with the values before and after', () => {
  for (const changes of [{ title: [null, 'A'] }, { tags: [['a'], []] }] as const) {
    const text = formatChanges({ record: 'link', action: 'updated', changes })
    assert.deepEqual([text, parseChanges('link', text)], [JSON.stringify(changes), changes])
  }
  // An earlier version had no exact addresses.
  const changes = { url: [null, 'https://example.com/'] } as const
  assert.deepEqual(parseChanges('link', formatChanges({ record: 'link', action: 'restored', changes })), changes)
  assert.equal(formatChanges({ record: 'link', action: 'deleted', changes: null }), null)
  assert.equal(parseChanges('link', null), null)
})
