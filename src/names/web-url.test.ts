import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter, anyWebUrl } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { Refusal, type Violation } from '../violations.ts'
import { isLinkable, parseDestination, parseWebUrl, schemeRefusal, unsafeSchemes } from './web-url.ts'

const accepted = [
  ...['https://go.acme.com', 'http://go.acme.com/x?y=z#w', 'HTTP://GO.ACME.COM/', 'HttpS://x'],
  ...'http://localhost:3000 http://x: http://127.0.0.1/ http://0x7f.1 http://[::1]:80/ http://x? http://x#'.split(' '),
  ...'https://köln.de/straße?ü#ß https://例え。テスト https://xn--kln-sna.de'.split(' '),
  ...['http://x/a@b', 'http://x?a@b', 'http://x#@'],
  ...'http://my_app.example.com https://_/ http://com https://github.io http://example.com.:80/ http://i❤️.ws/❤️'.split(
    ' ',
  ),
  ...'http://пример.example/пример http://例え.jp/ノ http://x/a⁄b http://x/а⠀b'.split(' '),
  ...['https://fa.wikipedia.org/wiki/می\u200cخواهم', 'http://x/👩\u200d👧', 'http://x#\u200d'],
  ...[
    ...'https://foo-.example.com/ http://-a.com http://a.- http://ü-.de https://https.example/ http://httpx'.split(' '),
    'http://x/%20%',
    'http://x//a//../b',
    `http://x/${'a'.repeat(2039)}`,
    `http://x/${'💩'.repeat(512)}${'a'.repeat(1527)}`,
  ],
  // 8,192 characters in percent-encoding.
  ...[`http://x/${'💩'.repeat(681)}${'a'.repeat(11)}`, `http://x/aa${'例'.repeat(909)}`],
]

const refused: Readonly<Record<string, readonly string[]>> = {
  too_long: [
    ...[`http://x/${'a'.repeat(2040)}`, `http://x/${'💩'.repeat(2040)}`, 'a'.repeat(10_000_000)],
    ...[`http://x/${'💩'.repeat(681)}${'a'.repeat(12)}`, `http://x/?${"'".repeat(1400)}${'例'.repeat(443)}`],
  ],
  control_characters: [
    ...['http://x\0', 'http://x/\t', 'http:/\n/x', '\rhttp://x', 'http://x/\x7f', 'http://x/\u0085', 'http://x/\u009f'],
    ...['http://x/\ud800', 'http://x/\udc00a'],
  ],
  has_space: [
    ...['http://a b', 'http://a.b/c d', ' http://x', 'http://x '],
    ...Array.from('\u00a0\u3000\u2003\u2028\u2029\ufeff\u1680', (space) => `http://x/${space}`),
  ],
  has_backslash: ['http:\\\\x', 'http://x\\y', 'http://x\\@y', 'http://x/?\\', '\\x'],
  not_absolute: [
    ...['', 'example.com', 'example.com/x', '/path', '//example.com', '?x', '#x', 'x', '://x', 'ü://x', '1http://x'],
    ...['http:example.com', 'http:/example.com', 'https:', 'http:?x', 'localhost:3000', 'example.com:80/x'],
  ],
  unsupported_scheme: [
    ...'javascript:alert(1) JavaScript://x ftp://x mailto:a@acme.com data:text/html,x file:///etc/passwd'.split(' '),
    ...['blob:https://x', 'httpss://x', 'http+s://x', 'user:pw@x', 'view-source:http://x', 'ftp:21x'],
  ],
  has_credentials: 'http://user@x http://user:pw@x http://@x http://:@x https://a@b@c http://@ http://:pw@/'.split(' '),
  host_missing: [
    ...['http://', 'https:///', 'http:///example.com', 'http:////example.com', 'http://?x', 'http://#x'],
    ...['http://:80', 'http://:', 'http://.', 'http://../', 'http://。/'],
  ],
  invalid_url: [
    'https://a%2eb/',
    ...'http://x:99999 http://x:a http://[::g] http://[::1 http://::1 http://1.2.3.256 http://foo.1'.split(' '),
    `http://${'例'.repeat(300)}`,
    ...'http://a% http://a%2fb http://%40x http://a<b http://a|b http://a＠b http://\u00ad http://xn--ü'.split(' '),
  ],
  has_wildcard: ['http://*', 'http://*.com', 'https://a.*.de/x', 'http://＊.com'],
  empty_label: ['http://a..b', 'http://.a', 'http://a..', 'https://a。。b/', 'http://a..b:80/x'],
  label_too_long: [`http://${'a'.repeat(64)}.com`, `https://${'ü'.repeat(63)}.de`],
  too_long_host: [`http://${'a.'.repeat(128)}`, `http://${'ü.'.repeat(40)}de/`],
  doubled_scheme: [
    'https://https://x.example/a',
    'http://http',
    'HTTPS://HTTP:/x',
    'https://https//x',
    'https://http.:80/',
  ],
  invalid_character: `http://a!b http://a,b.de http://a(b) http://"a" http://a~b http://a=b http://a'b`.split(' '),
  invalid_punycode: ['http://xn--a', 'https://xn--/', 'http://xn--a.xn--kln-sna.de'],
  lookalike_character: ['http://example.com⁄path', 'https://a∕b.de/', 'http://½.com', 'http://xn--ab-6bv.de'],
  mixed_scripts: ['http://аpple.com', 'https://goοgle.com/x', 'http://xn--pple-43d.com'],
  bidi_control: [
    ...Array.from('\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069', (c) => `http://x/a${c}b`),
    ...['http://x?\u202e', 'http://x#\u200f', 'http://x/\u200b\u202e'],
  ],
  invisible_character: [
    ...Array.from('\u200b\u2060\u2061\u2064\u00ad\u034f\u180e\u3164\u{e0041}', (c) => `http://x/a${c}b`),
    ...['http://a\u200bb.de', 'http://نامه\u200cای.com', 'http://x?a=\u2060', 'http://x#\u200d\u200b'],
    'http://go\u2800.de',
  ],
}

describe('parseWebUrl', () => {
  for (const text of accepted) {
    test(`returns ${shown(text)} unchanged`, () => assert.equal(parseWebUrl(text), text))
  }

  for (const [code, texts] of Object.entries(refused)) {
    test(`rejects with ${code}`, () => {
      for (const text of texts) assert.equal(refusalOf(text).code, code.replace('_host', ''), shown(text))
    })
  }

  test('names the supported schemes, and no other address', () => {
    for (const text of ['ftp://go.acme.com', 'mailto:a@b.c', 'javascript:alert(1)']) {
      assert.equal(refusalOf(text).message, 'Only http:// and https:// are supported.')
    }
  })

  const hints: readonly (readonly [text: string, url: string])[] = [
    ['go.acme.com/x?y', 'https://go.acme.com/x?y'],
    ['//go.acme.com', 'https://go.acme.com'],
    ['http:///go.acme.com', 'http://go.acme.com'],
    ['HTTPS:\\\\go.acme.com\\x', 'https://go.acme.com/x'],
    ['https://user:secret@go.acme.com/x', 'https://go.acme.com/x'],
    ['https://go.acme.com/a b', 'https://go.acme.com/a%20b'],
    ['https://go.acme.com/a\u202eb', 'https://go.acme.com/ab'],
    ['https://go.acme.com/?\u200b', 'https://go.acme.com/?'],
    ['https://https://x.example/a', 'https://x.example/a'],
    ['https://http//x.example/a', 'https://x.example/a'],
    ['https://a.example, https://b.example', 'a URL such as https://acme.com/summer'],
    ['a.example;http://b.example', 'a URL such as https://acme.com/summer'],
    ['https://go.acme.com/\tx', 'https://go.acme.com/x'],
    ['https://go\u200b.acme.com/', 'https://go.acme.com/'],
    ['https://*.acme.com/', 'a URL such as https://acme.com/summer'],
    ['2130706433', 'a URL such as https://acme.com/summer'],
    [`go.acme.com/${'x'.repeat(50)}`, 'a URL such as https://acme.com/summer'],
    // In quadratic time, this would take minutes.
    [`a${' '.repeat(500_000)}1`, 'a URL such as https://acme.com/summer'],
  ]
  for (const [text, url] of hints) {
    test(`suggests a replacement for ${shown(text)}`, () => {
      assert.ok(refusalOf(text).message.endsWith(`: write ${url}.`), refusalOf(text).message)
    })
  }
})

describe('parseWebUrl with any text', () => {
  test('reports the problem of the host', () => {
    assert.match(refusalOf(`http://${'a.'.repeat(128)}`).message, /^A host name has at most 253 characters/)
    assert.match(refusalOf('http://a..b').message, /^Put one dot between labels/)
  })

  test('returns short and harmless messages', () => {
    for (const text of Object.values(refused).flat()) assertHarmless(text, refusalOf(text))
    fc.assert(
      fc.property(urlLike, (text) => {
        const found = parseWebUrl(text)
        if (found instanceof Refusal) assertHarmless(text, found.at('url'))
      }),
      { numRuns },
    )
  })

  test('accepts every URL of the grammar of RFC 3986 without credentials', () => {
    fc.assert(
      fc.property(anyWebUrl, (text) => assert.equal(parseWebUrl(text), text)),
      { numRuns },
    )
  })

  test('accepts only http and https URLs with a host', () => {
    const input = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 80 }),
      fc.array(fc.nat(0xffff)).map((units) => `http://${String.fromCharCode(...units)}`),
      fc.string({ unit: anyCharacter }).map((rest) => `https://${rest}`),
      urlLike,
    )
    fc.assert(
      fc.property(input, (text) => {
        const found = parseWebUrl(text)
        if (!(found instanceof Refusal)) assertSound(found, text)
      }),
      { numRuns: 4 * numRuns },
    )
  })
})

const numRuns = runs(500, 100)

const urlLike = fc
  .tuple(
    fc.constantFrom('http://', 'https://', 'HTTP://', 'http:', 'http:/', 'http:///', '//', 'ftp://', 'javascript:', ''),
    fc.array(
      fc.oneof(
        fc.constantFrom(' ', ...'/ // \\ @ : :80 ? # % %40 %2f [ ] [::1] . .. xn--a'.split(' ')),
        fc.constantFrom('\ud800', ...'\t\n\u0085\u2028\ufeff\u00ad＠／。ü💩*_-⁄\u200b\u202eа'),
        fc.constantFrom('go.acme.com', 'user:pw', 'localhost', '127.0.0.1', '0x7f', '99999', 'x'),
        fc.string({ maxLength: 3 }),
      ),
      { maxLength: 8 },
    ),
  )
  .map(([start, parts]) => start + parts.join(''))

describe('parseDestination', () => {
  const parsed = (text: string) => parseDestination(text, 8192)
  const codeOf = (found: string | Refusal | null) => (found instanceof Refusal ? found.code : found)

  test('accepts other schemes, which the instance may not allow', () => {
    const standard = [
      'mailto:a@acme.com?subject=A%20b',
      'MAILTO:ü@acme.com',
      'mailto:?subject=x',
      'tel:112',
      'sms:+15550100',
    ]
    for (const text of [...standard, 'https://acme.com', 'HTTP://acme.com']) {
      assert.equal(parsed(text), text)
      assert.equal(schemeRefusal(text, []), null)
    }
    for (const text of ['whatsapp://send?text=ü', 'slack:x', 'fax:4930123456']) {
      assert.equal(parsed(text), text)
      const { message } = schemeRefusal(text, ['skype'])?.at('url') ?? {}
      assert.match(message ?? '', /^Only the schemes http, https, mailto, tel, sms and skype are supported\.$/)
      assert.equal(schemeRefusal(text, ['whatsapp', 'slack', 'fax']), null)
    }
  })

  test('rejects unsafe schemes, spaces, hidden characters, and schemes without more', () => {
    for (const scheme of unsafeSchemes) {
      // A number at the start could be the port of a host.
      for (const text of [`${scheme}:x`, `${scheme}:1/alert(1)`]) {
        assert.equal(codeOf(parsed(text)), 'unsupported_scheme')
        assert.equal(isLinkable(text), false)
      }
    }
    assert.equal(codeOf(parsed('JavaScript:alert(1)')), 'unsupported_scheme')
    assert.equal(codeOf(parsed('java\nscript:alert(1)')), 'control_characters')
    assert.equal(codeOf(parsed('\u200bjavascript:alert(1)')), 'not_absolute')
    for (const text of ['mailto:', 'tel:', 'x-y:']) assert.equal(codeOf(parsed(text)), 'scheme_alone', text)
    for (const text of ['localhost:3000', 'acme.com', 'acme.com:80/x'])
      assert.equal(codeOf(parsed(text)), 'not_absolute')
    assert.equal(codeOf(parsed('mailto:a\u202eb@acme.com')), 'bidi_control')
    const hinted = parsed('mailto:a@acme.com?subject=a b')
    assert.ok(hinted instanceof Refusal)
    assert.match(hinted.at('url').message, / write mailto:a@acme\.com\?subject=a%20b\.$/)
  })
})

test('accepts every hint that it gives', () => {
  const junk = fc.array(
    fc.oneof(
      fc.constantFrom(
        'https://',
        'http:',
        'mailto:',
        'tel:',
        'ftp://',
        'javascript:',
        'https//',
        ' ',
        ', ',
        '\t',
        '\u200b',
      ),
      fc.constantFrom(
        'acme.com',
        'a@b.example',
        '/x',
        '\u00a0',
        '\ufeff',
        '\u202e',
        '"',
        '<',
        '(',
        '%',
        '\\',
        'ü',
        '.',
        '-',
        ':1',
      ),
      fc.string({ maxLength: 3 }),
    ),
    { maxLength: 8 },
  )
  const rules = [parseWebUrl, (text: string) => parseDestination(text, 8192)]
  fc.assert(
    fc.property(junk, fc.constantFrom(...rules), (parts, parse) => {
      const text = parts.join('')
      const found = parse(text)
      const refusal = found instanceof Refusal ? found : schemeRefusal(text, [])
      const [, hint] = / write (?:a (?:URL|name) such as )?(\S+)\.$/.exec(refusal?.at('url').message ?? '') ?? []
      if (hint === undefined) return
      assert.equal(parse(hint), hint, `for ${JSON.stringify(text)}`)
      assert.equal(schemeRefusal(hint, []), null)
      assert.doesNotMatch(hint, /%E2%80|%C2%A0|%EF%BB/i)
    }),
    { numRuns: 4 * numRuns },
  )
})

function assertSound(found: string, text: string): void {
  assert.equal(found, text)
  assert.doesNotMatch(text, /[\s\p{Cc}\p{Cs}\p{Bidi_Control}\u200b-\u200d\u2060\\]/u)
  assert.ok([...text].length <= 2048)
  const url = new URL(text)
  assert.match(url.protocol, /^https?:$/)
  assert.equal(url.username + url.password, '')
  assert.match(url.hostname, /^(?:\[[\da-f:]+\]|[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*\.?)$/)
  const written = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  assert.equal(new URL(`http://${written}`).hostname, url.hostname)
  assert.ok(!written?.includes('@'))
}

function assertHarmless(text: string, { message }: Violation): void {
  assert.match(message, /^[A-Z][\x20-\x7e]{20,180}\.$/)
  assert.doesNotMatch(message.replace('"xn--"', ''), /[<>"`{}|^]/)
  if (text.length > 64) assert.ok(!message.includes(text), message)
}

function refusalOf(text: string): Violation {
  const found = parseWebUrl(text)
  assert.ok(found instanceof Refusal, `${shown(text)} was accepted`)
  return found.at('url')
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
