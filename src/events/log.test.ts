import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { createTransaction } from '../storage/port.ts'
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
