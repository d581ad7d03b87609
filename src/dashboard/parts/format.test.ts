import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exactTime, formatCount, quantity } from '../../lib/format.ts'
import { dayElement, formatDay, formatPercent, formatShortCount, timeAgo } from './format.ts'

const now = Date.parse('2026-11-22T12:00:00Z')

test('formats relative times, with the exact time as the title', () => {
  assert.equal(
    timeAgo('2026-11-22T09:00:00Z', now).text,
    '<time datetime="2026-11-22T09:00:00.000Z" title="Nov 22, 2026, 09:00 UTC">3 hours ago</time>',
  )
  const words = (milliseconds: number) => timeAgo(now + milliseconds, now).text.replace(/<.*?>/g, '')
  assert.equal(words(-1), 'just now')
  assert.equal(words(1_000), 'in a moment')
  assert.equal(words(-90_000), '1 minute ago')
  assert.equal(words(2 * 86_400_000), 'in 2 days')
  assert.equal(words(-86_400_000), '1 day ago')
  assert.equal(words(-7 * 86_400_000 + 1), '6 days ago')
  assert.equal(words(-7 * 86_400_000), 'Nov 15, 2026')
  assert.equal(words(30 * 86_400_000), 'Dec 22, 2026')
  assert.equal(words(-800 * 86_400_000), 'Sep 13, 2024')
})

test('formats exact times in a zone', () => {
  assert.equal(exactTime(now), 'Nov 22, 2026, 12:00 UTC')
  assert.match(exactTime(now, 'America/New_York'), /^Nov 22, 2026, 07:00 (?:EST|GMT-5)$/)
  assert.equal(formatDay('2026-11-22T23:59:00Z'), 'Nov 22, 2026')
  const late = dayElement('2026-11-22T23:59:00Z', 'Asia/Tokyo').text
  assert.match(late, / title="Nov 23, 2026, 08:59 GMT\+9">Nov 23, 2026</)
})

test('groups, shortens and counts numbers', () => {
  assert.equal(formatCount(1_234_567), '1,234,567')
  assert.equal(formatShortCount(1_234_567), '1.2M')
  assert.deepEqual([formatPercent(0.042), formatPercent(0.42), formatPercent(1.5)], ['4.2%', '42%', '150%'])
  assert.deepEqual([quantity(1, 'link'), quantity(0, 'link'), quantity(2, 'link')], ['1 link', '0 links', '2 links'])
})
