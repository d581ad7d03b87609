import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { foldCase } from './text.ts'
import { foldUrl, urlTerm } from './url-search.ts'

const finds = (url: string, text: string) => foldUrl(url).includes(urlTerm(foldCase(text)))

const host = fc.constantFrom('acme.com', 'bücher.example', 'Straße.example', 'shop.例え.jp', 'mañana.com:8080')
const character = fc.constantFrom(...'aZ0-_~/üß日💩é/', '%2F', '%41', '%C3%BC', '%0A', '%FF', '"', '<')

test('finds every part of a URL, however the URL and the part are spelled', () => {
  const places = { from: fc.nat(), length: fc.nat(), kept: fc.nat(12) }
  const input = fc.record({ name: host, path: fc.array(character, { maxLength: 12 }), ...places })
  fc.assert(
    fc.property(input, ({ name, path, from, length, kept }) => {
      const [bare = '', port = ''] = name.split(/(?=:)/)
      const origins = [`https://${name}/`, `https://${domainToASCII(bare)}${port}/`]
      const mixed = origins.map((origin) => origin + path.join(''))
      const { href } = new URL(mixed[0] ?? '')
      const pathStart = href.indexOf('/', 8)
      const start = pathStart + (from % (href.length - pathStart))
      // Without its percent sign, the start of an escape is other text.
      if (/%.?$/.test(href.slice(0, start))) return
      const escaped = href.slice(start, start + 1 + (length % href.length))
      const hosts = [bare, domainToASCII(bare)].map((each) => each.slice(from % each.length))
      const beginnings = origins.map((origin) => origin + path.slice(0, kept).join(''))
      for (const part of [escaped, escaped.toLowerCase(), ...beginnings, ...hosts]) {
        for (const url of [...mixed, href]) ok(finds(url, part), `${JSON.stringify(part)} in ${url}`)
      }
    }),
    { numRuns: runs(5_000) },
  )
})

test('stores other spellings only of URLs that have some', () => {
  equal(foldUrl('https://ACME.com'), 'https://acme.com')
  equal(foldUrl('https://acme.com/a?b=c#d'), 'https://acme.com/a?b=c#d')
  equal(foldUrl('https://bücher.example/ü'), 'https://bücher.example/ü\nhttps://xn--bcher-kva.example/%c3%bc')
  equal(foldUrl('mailto:%C3%BC@acme.com'), 'mailto:ü@acme.com\nmailto:%c3%bc@acme.com')
  equal(foldUrl('https://acme.com/%00%0a%FF'), 'https://acme.com/%00%0a%ff')
})

test('does not find other texts', () => {
  for (const text of ['bucher', 'ü%', 'xn--bcher.', '%C3%9C%C3%9C'])
    equal(finds('https://bücher.example/Ü', text), false, text)
  equal(finds('https://acme.com/a%2541', 'aA'), false)
})

test('reads 8 KiB of any escapes and labels in a few milliseconds', () => {
  for (const piece of ['%ff', '%ffa', '%C3%BC', '%0A', 'xn--bcher-kva.', 'xn--', 'ü', '%']) {
    const url = `https://acme.com/${piece.repeat(8_192 / piece.length)}`
    ok(finds(url, piece.repeat(3)), piece)
  }
})
