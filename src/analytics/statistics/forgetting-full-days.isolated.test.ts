import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import { longestTurn, maxMs, newPlaceWith, today } from '../../../test/full-days.ts'
import { dayText } from '../calendar.ts'

const app = await startApp()

test('deletes the clicks of full days in short event-loop ticks', async () => {
  const turns: number[] = []
  for (let round = 0; round < 4; round++) {
    const { send, link } = await newPlaceWith(app, 40)
    const forget = async () => assert.equal((await send('DELETE', `/links/${link}/clicks`)).status, 204)
    turns.push(await longestTurn(forget))
    assert.equal((await send('GET', `/stats?name=clicks&from=${dayText(today - 40)}`)).body.meta.clicks, 0)
  }
  assert.ok(Math.min(...turns) < maxMs, `${turns}`)
})
