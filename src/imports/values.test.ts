import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { failureOf, readText } from '../../test/import-files.ts'
import { FileTimes, fitTags, fitText, isSet, parseAddress, parseCount, parseFlag } from './values.ts'

for (const [text, host, path] of [
  ['https://Sip.Example:8443/Tea%2FGreen%20Tea/?a=1#b', 'sip.example', 'Tea/Green Tea'],
  ['sip.example/a', 'sip.example', 'a'],
  ['//sip.example/a//', 'sip.example', 'a/'],
  ['http://user:pw@täe.example./é', 'xn--te-via.example', 'é'],
  ['https://sip.example', 'sip.example', ''],
  ['/a', null, 'a'],
  ['https://sip.example/100%', 'sip.example', '100%'],
  ['https://sip.example/a%2520b', 'sip.example', 'a%20b'],
  ['https://sip.example/a%00b', 'sip.example', 'a\u0001b'],
] as const) {
  test(`reads ${text} as the path ${JSON.stringify(path)} of ${host}`, () => {
    assert.deepEqual(parseAddress(text), { host, path })
  })
}

test('reads no address from an empty text', () => assert.equal(parseAddress(' '), null))

const vienna = new FileTimes('Europe/Vienna')

for (const [value, time] of [
  ['2025-03-09T07:15:00+0000', '2025-03-09T07:15:00.000Z'],
  ['2025-03-09T07:15:00Z', '2025-03-09T07:15:00.000Z'],
  ['2025-03-09t07:15:00.123456z', '2025-03-09T07:15:00.123Z'],
  ['2025-03-09T08:15:00.5+01:00', '2025-03-09T07:15:00.500Z'],
  ['2025-03-09 07:15:00+00', '2025-03-09T07:15:00.000Z'],
  ['2025-03-09 01:45:00-0530', '2025-03-09T07:15:00.000Z'],
  ['2025-07-09 09:15:00', '2025-07-09T07:15:00.000Z'],
  ['2025-03-09T08:15:00', '2025-03-09T07:15:00.000Z'],
  ['2025-03-09', '2025-03-08T23:00:00.000Z'],
  // Spreadsheets and databases.
  ['2024-03-01 10:00', '2024-03-01T09:00:00.000Z'],
  ['2024-03-01T10:00', '2024-03-01T09:00:00.000Z'],
  ['2024-03-01 9:05', '2024-03-01T08:05:00.000Z'],
  ['2024-03-01  9:05:07', '2024-03-01T08:05:07.000Z'],
  ['2024-03-01T10:00Z', '2024-03-01T10:00:00.000Z'],
  ['2024-03-01 10:00 +02:00', '2024-03-01T08:00:00.000Z'],
  ['2024-03-01 10:00:00 UTC', '2024-03-01T10:00:00.000Z'],
  ['2024-03-01 10:00:00,5 gmt', '2024-03-01T10:00:00.500Z'],
  // Not there, and twice: the clock changes.
  ['2025-03-30 02:30:00', '2025-03-30T01:30:00.000Z'],
  ['2025-10-26 02:30:00', '2025-10-26T01:30:00.000Z'],
  ['1741504500', '2025-03-09T07:15:00.000Z'],
  [1741504500000, '2025-03-09T07:15:00.000Z'],
  ['', null],
  [null, null],
  ['0000-00-00 00:00:00', null],
  ['0000-00-00', null],
  ['03/04/2025', undefined],
  ['2025-02-30', undefined],
  ['2025-02-28 24:00:00', undefined],
  ['2025-02-28 24:00', undefined],
  ['2025-02-28 10', undefined],
  ['2025-02-28 10:5', undefined],
  ['2025-02-28 Z', undefined],
  ['2025-02-28 10:60:00', undefined],
  ['2025-02-28T10:00:60Z', undefined],
  ['2025-02-28T10:00:00+25:00', undefined],
  ['0050-01-01', undefined],
  ['yesterday', undefined],
  ['174150450', undefined],
  [1741504500.5, undefined],
] as const) {
  test(`reads the time ${JSON.stringify(value)} in Vienna as ${time}`, () => {
    assert.equal(vienna.parse(value), time)
  })
}

test('reads every time that was written with any offset', () => {
  const offset = fc.integer({ min: -18 * 60, max: 18 * 60 })
  const noInvalidDate = true
  const date = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate })
  fc.assert(
    fc.property(date, offset, (written, minutes) => {
      const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
      const zone = `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
      const local = new Date(written.getTime() + minutes * 60_000).toISOString().slice(0, -1)
      assert.equal(vienna.parse(local + zone), written.toISOString())
      assert.equal(new FileTimes(zone).parse(local), written.toISOString())
    }),
  )
})

test('asks for the zone of a time without an offset, and only then', async () => {
  const file = (time: string) => `alias,url,createdAt\na,https://tea.example/,${time}\n`
  assert.equal(await failureOf(file('2025-03-09T08:15:00Z')), 'no failure')
  assert.equal(
    await failureOf(file('2025-03-09 08:15:00')),
    'time_zone required: The file has times without an offset, such as 2025-03-09 08:15:00. Send time_zone, such as Europe/Vienna or +02:00.',
  )
  for (const timeZone of ['Vienna', '+25:00', '']) {
    assert.match(await failureOf(file(''), { timeZone }), /^time_zone not_allowed: The time zone must be an IANA name/)
  }
})

test('refuses a row with a time or a number of another form, and names the column', async () => {
  const { rows } = await readText('alias,url,createdAt,clicks\na,u,03/04/2025,x\nb,u,,"1.234"\nc,u,,"1,234"\n')
  assert.deepEqual(
    rows.map(({ refusal, clicks }) => refusal ?? clicks),
    [
      {
        code: 'invalid_time',
        message: 'created_at: “03/04/2025” is not a time such as 2026-11-20T12:00:00Z or 2026-11-20 12:00.',
      },
      { code: 'invalid_count', message: 'clicks: “1.234” is not a number such as 1234 or 1,234.' },
      1234,
    ],
  )
})

test('reads numbers with and without groups of three digits', () => {
  const values = ['0', 12, '1,234', '12,345,678', '', null, '1,23', '1234,567', '-1', '1.5', '9'.repeat(20), 'x']
  assert.deepEqual(values.map(parseCount), [...[0, 12, 1234, 12345678, null, null], ...Array(6).fill(undefined)])
})

test('reads what services write for on and off', () => {
  const values = [true, 1, 'Yes', 'TRUE', 't', false, '0', 'No', 'f', 'maybe']
  assert.deepEqual(values.map(parseFlag), [...Array(5).fill('true'), ...Array(4).fill('false'), 'maybe'])
  assert.deepEqual([[], {}, '', '0', 0, '€0,00', 'false', null, '[]', false].map(isSet), Array(10).fill(false))
  assert.deepEqual([[1], { a: 1 }, 'x', '1', true, '$2.00'].map(isSet), Array(6).fill(true))
})

test('cuts texts at the limit in characters, and says so', () => {
  assert.deepEqual(fitText(' a\n\tb\u0001 ', 5, false), { text: 'a b', isCut: false })
  assert.deepEqual(fitText('a\r\nb\u0001\tc\n', 9, true), { text: 'a\nb\tc', isCut: false })
  assert.deepEqual(fitText('😀'.repeat(5), 5, false), { text: '😀'.repeat(5), isCut: false })
  assert.deepEqual(fitText('😀'.repeat(6), 5, false), { text: '😀'.repeat(5), isCut: true })
  assert.deepEqual(fitText(`e${'\u0301'.repeat(100_000)}`, 5, false).isCut, true)
})

test('leaves out tags that no link can have, and says so', () => {
  assert.deepEqual(fitTags(' a ,, A,b', ','), { text: 'a,b', isCut: false })
  assert.deepEqual(fitTags(['a,b', { name: 'c' }], ','), { text: 'c', isCut: true })
  assert.deepEqual(fitTags('x'.repeat(51), ','), { text: '', isCut: true })
  const many = Array.from({ length: 21 }, (_, at) => `t${at}`)
  assert.deepEqual(fitTags(many.join('|'), '|'), { text: many.slice(0, 20).join(','), isCut: true })
})

test('marks rows whose texts had to be cut', async () => {
  const file = `url\ttitle\tnotes\ttags\talias\nu\t${'t'.repeat(256)}\t${'n'.repeat(2001)}\t${'g'.repeat(51)}\ta\n`
  const { rows } = await readText(file)
  assert.deepEqual(rows[0]?.losses, ['title', 'tags', 'notes', 'created_at'])
  assert.deepEqual(
    [rows[0]?.fields.title?.length, rows[0]?.fields.notes?.length, rows[0]?.fields.tags],
    [255, 2000, ''],
  )
})
