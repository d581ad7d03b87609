import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { createTransaction, type Db } from '../storage/port.ts'
import { CachedQuery, query } from '../storage/schema.ts'
import type { NewEvent } from './event.ts'
import { recordEvents } from './log.ts'

test('makes events while it stores them, so that few are in memory', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const storedBefore: number[] = []
  let statements = 0
  function* events(): Generator<NewEvent | null> {
    for (let id = 1; id <= 130; id += 1) {
      storedBefore.push(statements)
      yield { record: 'link', action: 'updated', id, name: 'a', changes: {} }
      yield null
    }
  }
  const count = await storage.write((tx) => {
    const counting = createTransaction((statement) => {
      statements += 1
      return tx.execute(statement)
    }, tx.newIds)
    return recordEvents(counting, systemActor(account), events())
  })
  assert.deepEqual([count, statements], [130, 3])
  assert.deepEqual([storedBefore[63], storedBefore[64], storedBefore[128]], [0, 1, 2])
})

test('opens each batch once, in few statements, in whatever order the events of several authors are stored', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const texts = new Set<string>()
  const record = (count: number, authors: number) =>
    storage.write((tx) => {
      const execute: Db['execute'] = (statement) => {
        assert.ok(statement instanceof CachedQuery)
        texts.add(statement.shape)
        return tx.execute(statement)
      }
      const actors = Array.from({ length: authors }, () => systemActor(account))
      const events = Array.from({ length: count }, (_, id) => {
        const author = actors[id % authors] ?? systemActor(account)
        return { record: 'link', action: 'updated', id, name: 'a', changes: {}, author } as const
      })
      return recordEvents(createTransaction(execute, tx.newIds), systemActor(account), events)
    })
  const places = query.selectFrom('events').select(['batch_id', 'opens_batch']).orderBy('id')
  let batches = 0
  for (const authors of [1, 2, 3, 32, 64]) {
    for (const count of [1, 2, 3, 31, 33, 64, 65, 100].filter((each) => each >= authors)) {
      await record(count, authors)
      batches += authors
    }
  }
  const events = await storage.execute(places)
  const opened = events.filter(({ opens_batch }) => opens_batch === 1).map(({ batch_id }) => batch_id)
  assert.deepEqual([opened.length, new Set(opened).size], [batches, batches])
  assert.ok(texts.size <= 14, `${texts.size} texts`)
})
