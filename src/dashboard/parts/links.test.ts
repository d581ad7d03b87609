import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destination, shortUrlLink, shortUrlText, statusBadge, truncateMiddle } from './links.ts'

test('truncates text in the middle, between graphemes', () => {
  assert.equal(truncateMiddle('abcdefghij', 10), 'abcdefghij')
  assert.equal(truncateMiddle('abcdefghijk', 10), 'abcde…hijk')
  assert.equal(truncateMiddle('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 3), '👩‍👩‍👧…👩‍👩‍👧')
})

test('shows the decoded host and path of a destination, with the URL as the title', () => {
  const words = (url: string) => destination(url).text.replace(/<.*?>/g, '')
  assert.equal(words('https://user:x@acme.com/'), 'acme.com')
  assert.equal(words('https://acme.com/%C3%A9t%C3%A9?a=1#top'), 'acme.com/été?a=1')
  assert.equal(words('https://acme.com/%ff'), 'acme.com/%ff')
  assert.equal(words('no URL'), 'no URL')
  assert.equal(words('mailto:%C3%BC@acme.com?subject=A'), 'mailto:ü@acme.com?subject=A')
  assert.equal(words('tel:+15550100'), 'tel:+15550100')
  assert.equal(words('whatsapp://send?text=a'), 'whatsapp://send?text=a')
  assert.equal(words(`mailto:${'x'.repeat(60)}@acme.com`), `mailto:…${'x'.repeat(18)}@acme.com`)
  const long = destination(`https://acme.com/a?${'x'.repeat(99)}&y`, 20).text
  assert.match(
    long,
    /^<span class="target" title="https:\/\/acme\.com\/a\?x{99}&amp;y"><bdi dir="ltr">acme\.com<\/bdi><bdi dir="ltr">\/a\?x{8}…<\/bdi>/,
  )
  assert.equal(words(`https://acme.com/${'y'.repeat(60)}/end?a=1`), `acme.com/…${'y'.repeat(22)}/end`)
  assert.equal(
    words(`https://${'x'.repeat(60)}.com/${'y'.repeat(60)}`),
    `${'x'.repeat(12)}…${'x'.repeat(8)}.com/…${'y'.repeat(9)}`,
  )
})

test('shows a decoded short link without a scheme, and copies its encoded form', () => {
  const { text } = shortUrlLink('https://xn--bcher-kva.example/%C3%A9t%C3%A9', '/app/links/1')
  assert.match(text, /<a class="short-url" href="\/app\/links\/1" aria-label="bücher\.example\/été">/)
  assert.match(text, /<span class="host">bücher\.example<\/span><span class="path">\/été<\/span>/)
  assert.match(text, /data-copy="https:\/\/xn--bcher-kva\.example\/%C3%A9t%C3%A9"/)
  assert.equal(shortUrlText('https://a.b/%ff'), 'a.b/%ff')
  assert.equal(shortUrlText(`https://go.acme.com/${'x'.repeat(60)}`), `go.acme.com/${'x'.repeat(18)}…${'x'.repeat(29)}`)
})

test('shows a path of 128 characters whole, and a long host in 48 characters', () => {
  const path = `/${'p'.repeat(128)}`
  const { text } = shortUrlLink(`https://${'h'.repeat(60)}.com${path}`, '/app/links/1')
  const parts = /<span class="host">(.*?)<\/span><span class="path">(.*?)<\/span>/.exec(text)?.slice(1)
  assert.deepEqual(parts, [`${'h'.repeat(24)}…${'h'.repeat(19)}.com`, path])
})

test('shows at most eight code units for each character of a truncated text', () => {
  const marks = '\u0301'.repeat(8_000)
  for (const text of [`a${marks}`, marks, `a${marks}z`, '👩‍👩‍👧'.repeat(1_000)]) {
    for (const tail of [0, 9]) assert.ok(truncateMiddle(text, 20, tail).length <= 161, text.slice(0, 9))
  }
  assert.ok(destination(`https://acme.com/a${encodeURIComponent(marks).slice(0, 8_000)}`).text.length < 600)
})

test('names the reason of a status', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  const at = (days: number) => new Date(now + days * 86_400_000).toISOString()
  const never = { active_period_start_at: null, active_period_end_at: null, clicks_limit: null }
  const words = (change: Partial<Parameters<typeof statusBadge>[0]>) =>
    statusBadge({ status: 'active', ...never, ...change }, now)?.text.replace(/<.*?>/g, '') ?? null
  assert.equal(words({}), null)
  assert.equal(words({ active_period_end_at: at(8) }), null)
  assert.equal(words({ active_period_end_at: at(2) }), 'Ends in 2 days')
  assert.equal(words({ status: 'scheduled', active_period_start_at: at(3) }), 'Starts in 3 days')
  assert.equal(words({ status: 'expired', active_period_end_at: at(-30) }), 'Expired Oct 21, 2026')
  const limit = { clicks_limit: 1_000 }
  assert.equal(words({ status: 'expired', ...limit }), 'Used up, 1,000 of 1,000')
  assert.equal(words({ status: 'expired', ...limit, active_period_end_at: at(2) }), 'Used up, 1,000 of 1,000')
  assert.equal(words({ status: 'disabled', ...limit }), 'Disabled')
})
