import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figures } from '../statistics.ts'
import { count, counted, percent, shortCount } from './format.ts'

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
  assert.equal(count(1_234_567), '1,234,567')
  assert.equal(shortCount(1_234_567), '1.2M')
  assert.deepEqual([percent(0.042), percent(0.42), percent(1.5)], ['4.2%', '42%', '150%'])
  assert.deepEqual([counted(1, 'link'), counted(0, 'link'), counted(2, 'link')], ['1 link', '0 links', '2 links'])
})
