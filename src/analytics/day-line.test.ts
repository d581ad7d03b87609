/** What a line of a day may have, in the words of an import. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidRecord } from '../transfer/transferable.ts'
import { clickTransfer } from './transfer.ts'

const hour = { hour: 1, clicks: 2, unique_clicks: 1, bots: 0, previews: 3 }
/** Tomorrow in UTC has begun already in some zones. */
const afterTomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
const hours = /^hours: An hour has hour, clicks, unique_clicks, bots, previews, and nothing else: /
const others = /^other: The value is an object of numbers from 1 to 1000000000, by countries, /
const codes = Array.from({ length: 201 }, (_, n) => [`h${n}.example`, 1])

for (const [members, reason] of [
  [{ link_id: undefined }, /^link_id: The line needs the id that the link has in the file\.$/],
  [{ link_id: '7' }, /^link_id: /],
  [{ day: '2026-02-30' }, /^day: Days are written such as 2026-11-20\.$/],
  [{ day: '2026-11-20T00:00:00.000Z' }, /^day: Days /],
  [{ day: '1969-12-31' }, /^day: Days /],
  [{ day: 20_000 }, /^day: Days /],
  [{ day: afterTomorrow }, /^day: The day is in the future\.$/],
  [{ hours: undefined }, /^hours: A day needs the list of its hours\.$/],
  [{ hours: [] }, /^hours: The day has no clicks\. Leave the line out\.$/],
  [{ hours: [hour, hour] }, /^hours: The hour 1 is there twice\.$/],
  [{ hours: [null] }, hours],
  [{ hours: [{ ...hour, hour: 38.25 }] }, hours],
  [{ hours: [{ ...hour, more: 1 }] }, hours],
  [{ hours: [{ ...hour, bots: -1 }] }, hours],
  [{ hours: [{ ...hour, clicks: 1e9 + 1 }] }, hours],
  [{ hours: [{ ...hour, unique_clicks: 3 }] }, hours],
  [{ countries: 'DE' }, /^countries: The value is a list of pairs: a value, or null, and its clicks\.$/],
  [{ countries: [['de', 2]] }, /^countries: \["de",2\] is not a value of it, or null, and its clicks, from 1 to /],
  [{ countries: ['DE'] }, /^countries: "DE" is not a value/],
  [{ countries: [['DE', 0]] }, /^countries: \["DE",0\] is not/],
  [{ countries: [['DE', 1, 1]] }, /^countries: /],
  [
    {
      countries: [
        ['DE', 1],
        ['DE', 1],
      ],
    },
    /^countries: DE is there twice\.$/,
  ],
  [
    {
      countries: [
        [null, 1],
        [null, 1],
      ],
    },
    /^countries: null is there twice\.$/,
  ],
  [{ countries: [['DE', 1]] }, /^countries: The numbers add up to 1, but the clicks of all hours to 2\.$/],
  [
    { referrers: [['a b', 2]], devices: [['car', 2]], more: 1 },
    /^more: The more field is unknown\. referrers: .* devices: /,
  ],
  [{ referrers: codes }, /^referrers: There are more than 200 values\.$/],
  [{ referrers: [['x'.repeat(254), 2]] }, /^referrers: /],
  [{ browsers: [['\n', 2]] }, /^browsers: /],
  [{ operating_systems: [['', 2]] }, /^operating_systems: /],
  [{ languages: [['german', 2]] }, /^languages: /],
  [{ rules: [['Test 1', 1]] }, /^rules: The numbers add up to 1, but the clicks of all hours to 2\.$/],
  [{ rules: [['x'.repeat(61), 2]] }, /^rules: /],
  [{ rules: [['', 2]] }, /^rules: /],
  [{ rules: [['a\u0000', 2]] }, /^rules: /],
  [{ rules: [['\ud800', 2]] }, /^rules: /],
  [{ links: [[7, 2]] }, /^links: The links field is unknown\.$/],
  [{ other: { countries: 1 } }, /^countries: The numbers add up to 1, /],
  [{ other: { links: 2 } }, others],
  [{ other: { countries: 0 } }, others],
  [{ other: 2 }, others],
] as const) {
  test(`rejects a day with ${JSON.stringify(members).slice(0, 80)}`, () => {
    const day = { link_id: 7, day: '2026-11-20', hours: [hour], ...members }
    assert.throws(
      () => clickTransfer.read(day),
      (error) => error instanceof InvalidRecord && reason.test(error.message),
    )
  })
}
