/** What a permanent deletion leaves in the data file of SQLite. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { systemActor } from '../src/access/actor.ts'
import { insertLink } from '../src/links/store.ts'
import type { Db } from '../src/storage/port.ts'
import { query } from '../src/storage/schema.ts'
import { actionsOn } from './actions.ts'
import { newClick, openClicks } from './clicks.ts'
import { newDomain, newSpace, plainLink, twoNodes } from './links.ts'

const clickedIds = async (db: Db) => {
  const days = await db.execute(query.selectFrom('click_days').select(['scope', 'id']).where('scope', '<>', 3))
  return days.map(({ scope, id }) => `${scope} ${id}`)
}

test('a permanent deletion overwrites the destination and the notes of links in the file, and deletes clicks', async (t) => {
  const { storage, account, domain } = await twoNodes((work) => t.after(work))
  const { location } = storage
  assert.ok(location.engine === 'sqlite')
  const { store, maintenance } = await openClicks(location, (work) => t.after(work))
  const { actions } = actionsOn(storage, () => maintenance.erase())
  const actor = systemActor(account)
  const [doomed, space] = [await newDomain(storage, account, 'old.acme.com'), await newSpace(storage, account, 'Red')]
  const link = async (alias: string, values = {}, on = domain) => {
    const own = { ...plainLink, alias, url: `https://to-${alias}.example/path`, notes: `about ${alias} `.repeat(800) }
    return (await insertLink(storage, actor, { id: on, name: 'acme.com' }, { ...own, ...values })).record.id
  }
  const [stays, single] = [await link('stays'), await link('single', { space_id: space })]
  const ids = [stays, single, await link('first', {}, doomed), await link('second', {}, doomed)]
  const clicks = ids.map((id) => newClick(id, 100 * 86_400_000))
  await store.write(1, clicks)
  const files = async () => {
    const [main, log] = await Promise.all([location.path, `${location.path}-wal`].map((path) => readFile(path)))
    return (text: string) => [main?.includes(text), log?.includes(text)].includes(true)
  }

  await actions.links.change(actor, single, { url: 'https://moved-single.example' }, null)
  const hasBefore = await files()
  for (const text of ['to-single.', 'moved-single.', 'about first', 'to-second.']) assert.equal(hasBefore(text), true)
  await actions.links.remove(actor, single, { permanently: 'true' }, null)
  await actions.spaces.remove(actor, space, { permanently: 'true' }, null)
  await actions.domains.remove(actor, doomed, { links: 'delete', permanently: 'true' }, null)
  const has = await files()
  for (const text of ['to-single.', 'moved-single.', 'about single', 'about first', 'to-second.']) {
    assert.equal(has(text), false, text)
  }
  assert.deepEqual([has('to-stays.'), has('about stays')], [true, true])
  assert.deepEqual(await clickedIds(storage), [`0 ${stays}`, `1 ${domain}`])
})
