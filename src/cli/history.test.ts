import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newPlace } from '../../test/command-line.ts'
import { keyActor, storeEvents } from '../../test/events.ts'
import { systemActor } from '../access/actor.ts'
import { query } from '../storage/schema.ts'

/** Creates an account with two links, and with only the events that the test stores. */
async function newHistory(t: TestContext) {
  const place = await newPlace(t)
  await place.say('domains create go.acme.com')
  for (const alias of ['summer', 'winter']) await place.say(`links create acme.com --alias ${alias}`)
  await place.storage.execute(query.deleteFrom('events'))
  return place
}

/** Returns the lines of the table, without the ids and times. */
const changesIn = (table: string) => table.split('\n').map((line) => line.replace(/^(ID|\d+) +(TIME|\S+Z) +/, ''))

test('lists changes in words, newest first, with a note about further ones', async (t) => {
  const { storage, say, run } = await newHistory(t)
  const changes = {
    title: [null, 'Summer\u001b[31m sale'],
    tags: [['Print'], []],
    notes: ['a'.repeat(50), 'b'],
  } as const
  await storeEvents(storage, keyActor(1), { changes }, { action: 'clicks_deleted', changes: {} })
  await storeEvents(storage, systemActor(1), { record: 'tag', action: 'created', name: 'Print' })
  await storage.execute(query.updateTable('events').set({ undone_by: 9 }).where('record', '=', 'tag'))
  const summer = 'go.acme.com:3080/summer'
  assert.deepEqual(changesIn(await say('history')), [
    'BY                CHANGE',
    'Waymark (system)  created the tag Print (undone)',
    `ci (key)          deleted the statistics of ${summer}`,
    `ci (key)          changed 3 fields of ${summer}: title none → "Summer\\u001b[31m sale", tags ["Print"] → [], notes "${'a'.repeat(38)}… → "b"`,
  ])
  const { code, stdout, stderr } = await run('history --limit 2')
  assert.deepEqual([code, stdout.split('\n').length], [0, 4])
  assert.equal(stderr, 'Showing 2 of 3 changes. Raise --limit, or add a filter.\n')
})

test('lists the changes of a link by alias, short URL or ID, even after its deletion', async (t) => {
  const { storage, say, json, fails } = await newHistory(t)
  await storeEvents(storage, keyActor(1), { id: 1 }, { id: 2 }, { id: 2, record: 'tag' }, { id: 7, action: 'deleted' })
  for (const [link, id] of [
    ['winter', 2],
    ['http://go.acme.com:3080/summer', 1],
    ['7', 7],
  ] as const) {
    const events = await json(`history ${link}`)
    assert.deepEqual([events.length, events[0].record, events[0].record_id], [1, 'link', id])
  }
  await fails('history autumn', 1, /^No link has the alias autumn\./)
  assert.equal(await say('history 8'), 'ID  TIME  BY  CHANGE')
})

test('filters by type, actor and days, and rejects other values', async (t) => {
  const { storage, json, fails } = await newHistory(t)
  await storeEvents(storage, keyActor(1), { id: 1 }, { id: 2, action: 'restored' })
  await storeEvents(storage, systemActor(1), { id: 3 })
  const today = new Date().toISOString().slice(0, 10)
  for (const [options, ids] of [
    ['--type link.updated', [3, 1]],
    ['--actor key', [2, 1]],
    ['--actor system --type link.restored', []],
    ['--to 2026-01-01', []],
    [`--from 2026-01-01 --actor system`, [3]],
  ] as const) {
    const found = await json(`history ${options}`)
    assert.deepEqual(
      found.map(({ record_id }: { record_id: number }) => record_id),
      ids,
      options,
    )
  }
  await fails('history --type links', 2, /^--type: The type must be one of link\.created, /)
  await fails('history --actor ci', 2, '--actor: The actor must be one of key, member, command, system.')
  await fails(`history --from ${today} --to 2026-01-01`, 2, /^--to: The to date must not be before the from date\./)
  await fails('history --account 2', 1, /^Account 2 doesn't exist\./)
})

test('undoes a change, its undo, and all changes of a command', async (t) => {
  const { say, json, run, fails } = await newHistory(t)
  await say('links update summer --title Sale')
  const [update] = await json('history summer')
  const words = 'set the title of go.acme.com:3080/summer: title none → "Sale"'
  assert.equal(await say(`undo ${update.id}`), `Undone: ${words}`)
  assert.equal((await json('links show summer')).title, null)
  const [undo, undone] = await json('history summer')
  assert.deepEqual([undone.undone_by, undo.actor.kind, undo.type], [undo.id, 'command', 'link.updated'])
  await say(`undo ${undo.id}`)
  assert.equal((await json('links show summer')).title, 'Sale')

  await say('domains delete go.acme.com --links delete --yes')
  const events = await json('history')
  const deletion = events.find(({ type }: { type: string }) => type === 'domain.deleted')
  assert.equal(await say(`undo ${deletion.id} --batch`), 'Undone: 3 changes.')
  assert.equal((await json('links show summer')).title, 'Sale')
  assert.equal(await say(`undo ${deletion.id} --batch`), 'Nothing was left to undo.')

  await say('links update winter --title A')
  const [first] = await json('history winter')
  await say('links update winter --title B')
  const reason = /The field title of the link has been changed again since\./
  await fails(`undo ${first.id}`, 1, reason)
  const { code, stdout } = await run(`undo ${first.id} --batch`)
  assert.deepEqual([code, stdout.split('\n')[0]], [1, 'Nothing was undone.'])
  assert.match(stdout, new RegExp(`^Change ${first.id} can't be undone: ${reason.source}$`, 'm'))
  await fails('undo 1000', 1, 'There is no such event.')
  await fails('undo 1000 --batch', 1, 'There is no such event.')
  await fails('undo x', 2, 'CHANGE must be the ID of a change, as shown by "npx waymark history".')
})
