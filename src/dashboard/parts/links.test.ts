import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destination, shortUrlLink, shortUrlText, truncateMiddle } from './links.ts'

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

test('a line shortens a long host for its path, which stays whole', () => {
  const partsOf = (shortUrl: string) => {
    const { text } = shortUrlLink(shortUrl, '/app/links/1', { room: 38 })
    return /<span class="host">(.*?)<\/span><span class="path">(.*?)<\/span>/.exec(text)?.slice(1)
  }
  const path = `/${'p'.repeat(128)}`
  assert.deepEqual(partsOf(`https://go.acme.com${path}`), ['go.acme.com', path])
  assert.deepEqual(partsOf(`https://${'h'.repeat(60)}.com${path}`), [`${'h'.repeat(10)}…${'h'.repeat(5)}.com`, path])
  assert.deepEqual(partsOf(`https://${'h'.repeat(30)}.com/sale`), [`${'h'.repeat(16)}…${'h'.repeat(12)}.com`, '/sale'])
})
