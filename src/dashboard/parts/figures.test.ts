import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figures } from '../statistics.ts'
import { formatCount, formatPercent, formatShortCount, quantity } from './format.ts'

const period = 'the 30 days before'
const changeOf = (value: number, before: number) => figures([{ label: 'Clicks', value, before }], period).text

test('a figure says its change against the period before, in words too', () => {
  assert.match(changeOf(1_200, 1_000), /<dt>Clicks<\/dt><dd><span class="figure">1,200<\/span>/)
  assert.match(
    changeOf(1_200, 1_000),
    /title="1,000 in the 30 days before"><svg .*>up<\/span> 20%<span class="hidden-text"> against/,
  )
  assert.match(changeOf(900, 1_000), />down<\/span> 10%</)
  assert.match(changeOf(5, 0), />up<\/span> from 0</)
  assert.match(changeOf(5, 5), />no change</)
  assert.doesNotMatch(changeOf(0, 0), /change/)
  assert.doesNotMatch(figures([{ label: 'Links', value: 3 }], period).text, /change/)
})

test('numbers are grouped, shortened and counted', () => {
  assert.equal(formatCount(1_234_567), '1,234,567')
  assert.equal(formatShortCount(1_234_567), '1.2M')
  assert.deepEqual([formatPercent(0.042), formatPercent(0.42), formatPercent(1.5)], ['4.2%', '42%', '150%'])
  assert.deepEqual([quantity(1, 'link'), quantity(0, 'link'), quantity(2, 'link')], ['1 link', '0 links', '2 links'])
})
