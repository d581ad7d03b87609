/** Days without room for another value, for as long as can be asked: nothing else waits for the answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import { signedIn } from '../../../test/dashboard.ts'
import { longestTurn, maxMs, newPlaceWith, people, today } from '../../../test/full-days.ts'
import { dayText } from '../calendar.ts'
import { dimensions, maxValues } from '../day.ts'
import { maxDays } from './day-range.ts'

const app = await startApp()

test('a year of full days takes the event loop less than 20 ms at a time', async () => {
  const { send } = await newPlaceWith(app, maxDays)
  for (const name of ['clicks', ...dimensions]) {
    const turns: number[] = []
    // The first rounds are those in which the code is compiled.
    for (let round = 0; round < 4; round++) {
      const turn = await longestTurn(async () => {
        const { body } = await send('GET', `/stats?name=${name}&from=${dayText(today - maxDays + 1)}`)
        assert.equal(body.meta.clicks, maxDays * maxValues * 6 * people)
      })
      turns.push(turn)
    }
    assert.ok(Math.min(...turns) < maxMs, `${name}: ${turns}`)
  }
})

test('a page with a year of full days takes the event loop less than 20 ms at a time', async () => {
  const { link, domain, key } = await newPlaceWith(app, maxDays)
  const browser = await signedIn(app, key)
  for (const path of ['/app', `/app/links/${link}`, `/app/domains/${domain.id}`]) {
    const turns: number[] = []
    for (let round = 0; round < 6; round++) {
      const show = async () => {
        const { text } = await browser.open(`${path}?period=12m`)
        assert.match(text, /value-\d+\.example\.com/)
      }
      turns.push(await longestTurn(show))
    }
    assert.ok(Math.min(...turns) < maxMs, `${path}: ${turns}`)
  }
})
