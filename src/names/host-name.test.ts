import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { describe, test } from 'node:test'
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { anyCharacter } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type HostName, parseHostName } from './host-name.ts'
import { isApex, mistypedTopLevel } from './top-level.ts'

const accepted: readonly (readonly [text: string, name: string, nameUnicode?: string])[] = [
  ['go.acme.com', 'go.acme.com'],
  ['Go.ACME.Com', 'go.acme.com'],
  ['go.acme.com.', 'go.acme.com'],
  ['localhost', 'localhost'],
  ['wiki.corp', 'wiki.corp'],
  ['acme.github.io', 'acme.github.io'],
  ['www.ck', 'www.ck'],
  ['1.2.3.4a', '1.2.3.4a'],
  ['0x7f.acme.com', '0x7f.acme.com'],
  ['a--b.ab--c.com', 'a--b.ab--c.com'],
  [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  [`${'abc.'.repeat(62)}abcde.`, `${'abc.'.repeat(62)}abcde`],
  ['köln.de', 'xn--kln-sna.de', 'köln.de'],
  ['KÖLN.de', 'xn--kln-sna.de', 'köln.de'],
  ['ko\u0308ln.de', 'xn--kln-sna.de', 'köln.de'],
  ['XN--KLN-SNA.de', 'xn--kln-sna.de', 'köln.de'],
  ['straße.de', 'xn--strae-oqa.de', 'straße.de'],
  ['bücher。example．com｡', 'xn--bcher-kva.example.com', 'bücher.example.com'],
  ['ｇｏ.acme.com', 'go.acme.com'],
  ['go\u00ad.acme.com', 'go.acme.com'],
  ['例え.テスト', 'xn--r8jz45g.xn--zckzah', '例え.テスト'],
  ['אבג.com', 'xn--4dbcd.com', 'אבג.com'],
  ['💩.la', 'xn--ls8h.la', '💩.la'],
  ['i❤\ufe0f.ws', 'xn--i-7iq.ws', 'i❤.ws'],
  ['مثال.إختبار', 'xn--mgbh0fb.xn--kgbechtv', 'مثال.إختبار'],
  ['क्\u200dष.भारत', 'xn--11b2ezcw70k.xn--h2brj9c', 'क्\u200dष.भारत'],
  ['نامه\u200cای.com', 'xn--mgba3gch31f060k.com', 'نامه\u200cای.com'],
]

const refused: Readonly<Record<string, readonly string[]>> = {
  has_scheme: ['https://go.acme.com', 'HTTP://x', 'http:x', 'https:', '//x', '://x', 'ftp://x', 'javascript:alert(1)'],
  has_port: ['x:80', 'go.acme.com:', ':80', 'go.acme.com:80/x', 'go.acme.com：80', 'go.acme.com:abc', 'ü:1'],
  has_path: ['example.com/path', 'example.com/', '/x', 'x?', 'x#y', 'ü.de/x', 'example.com／path', 'x/y@z', 'x/y:80'],
  has_credentials: ['user@x', 'user:pw@x', '@x', 'user＠x', 'user@x:80', 'mailto:a@acme.com'],
  has_wildcard: ['*', '*.acme.com', 'a*.com', 'a.*', '＊.ü.de'],
  has_underscore: ['_dmarc.acme.com', 'my_shop.com', 'ü_x.de', 'x＿y.com'],
  has_space: ['my shop.com', 'a\tb', 'a\nb', 'a\u00a0b', 'a\u3000b', 'a\u2028b', '\ufeffa', ' a'],
  has_backslash: ['a\\b', '\\\\server\\share', 'a＼b'],
  ip_address: [
    ...['1.2.3.4', '1.2.3.4.', '127.1', '2130706433', '0x7f.1', '0X7F.1', '0x7f000001', '0177.0.0.1', '0x', '0', '08'],
    ...['256.1.1.1', '１２７.０.０.１', '1。2。3。4', '①.②.③.④', '1\u00ad.2.3.4', '0ｘ7f.1'],
    ...['::1', '::', '[::1]', '[::1]:80', '[::1', '::ffff:1.2.3.4', 'fe80::1%eth0', '2001:db8::/32', '：：１'],
  ],
  empty_label: ['', '.', '..', '.a', 'a..b', 'a..', '。', 'ü..de', 'a.\u00ad.b', '.com'],
  label_too_long: [`${'a'.repeat(64)}.com`, 'a'.repeat(300), `${'ü'.repeat(63)}.de`, `xn--${'a'.repeat(60)}`],
  too_long: [`${'abc.'.repeat(62)}abcdef`, 'a'.repeat(1025), 'ü.'.repeat(1_000_000), `${'ü.'.repeat(40)}de`],
  hyphen_at_edge: ['-a.com', 'a-.com', 'a.-', '-', 'a-', '-ü.de', 'ü-.de', 'xn----eha.de', '－a.com'],
  invalid_character: [
    ...`exa%6dple.com % a+b a,b a'b a~b a|b a"b a<b> a;b a! [a] {a} a^b a\`b`.split(' '),
    ...['a\0b', 'a\x7fb', 'a\u0080b', '\ud800', 'a\udc00.com', 'a\ufffd', 'a\u202eb', 'אb', 'a\u200db', 'a\u00a8b.com'],
    ...['\u0301a.com', '\u00ad', 'a\u2024b', 'a％6db'],
  ],
  invalid_punycode: ['xn--', 'xn--a', 'XN--A.com', 'xn--abc-', 'xn--0.pt', 'xn--1ug', 'xn--ü.de', 'ｘｎ--a', 'ü.xn--a'],
  numeric_last_label: ['foo.1', 'foo.0x7f', '1.2.3.4.5', 'ü.1', 'foo.１', 'foo.0x', 'foo.1.', '1a.2'],
  lookalike_character: ['example.com⁄path', 'a∕b.com', '½.com', 'a։80', 'example·com', 'xn--ab-6bv.de', 'com⁄.пример'],
  invisible_character: ['go\u2800acme.com', 'go\u3164.acme.com', '\u2800', 'a\u115f\u1160b', 'a\u180eb'],
  mixed_scripts: ['аpple.com', 'goοgle.com', 'shop.pаypal.de', 'αб.com', 'Ꭰa.de', 'xn--pple-43d.com', 'аррlе.рф'],
  public_suffix: [
    ...['com', 'COM.', 'co.uk', 'de', 'ck', 'foo.ck', 'github.io', 's3.amazonaws.com', 'in-addr.arpa'],
    ...['рф', 'xn--p1ai', '公司.cn', 'co。uk', 'ｃｏｍ', 'co\u00adm'],
  ],
}

describe('parseHostName', () => {
  for (const [text, name, nameUnicode = name] of accepted) {
    test(`accepts ${shown(text)} as ${shown(name)}`, () => {
      assert.deepEqual(parseHostName(text), { name, nameUnicode })
    })
  }

  for (const [code, texts] of Object.entries(refused)) {
    test(`rejects with ${code}`, () => {
      for (const text of texts) assert.equal(refusalOf(text).code, code, shown(text))
    })
  }

  for (const code of ['lookalike_character', 'mixed_scripts'] as const) {
    test(`rejects Punycode with ${code}`, () => {
      for (const text of refused[code] ?? []) assert.equal(refusalOf(domainToASCII(text)).code, code, shown(text))
    })
  }

  test('accepts every letter, digit and inner hyphen, and no other ASCII character', () => {
    for (let code = 0; code < 128; code++) {
      const character = String.fromCharCode(code)
      const isHostName = !(parseHostName(`a${character}b.de`) instanceof Refusal)
      assert.equal(isHostName, /[a-z\d.-]/i.test(character), shown(character))
    }
  })

  const hints: readonly (readonly [text: string, hint: string])[] = [
    ['https://user:pw@Go.Acme.com:8080/x?y#z', 'Leave out the scheme ("https://"): write go.acme.com.'],
    ['go.acme.com:80', 'Leave out the port: write go.acme.com.'],
    ['user:secret@acme.com', 'Leave out the user name and password: write acme.com.'],
    ['go acme', 'Leave out the white space: write a name such as go.acme.com.'],
    ['my_shop', 'Host names have no underscores, only hyphens: write a name such as go.acme.com.'],
    ['http://LOCALHOST:3080/', 'Leave out the scheme ("https://"): write localhost.'],
    ['*.acme.com', 'Wildcards are not supported: write acme.com.'],
    ['my_shop.com', 'Host names have no underscores, only hyphens: write my-shop.com.'],
    ['https://אבג.com/', 'Leave out the scheme ("https://"): write xn--4dbcd.com.'],
    ['javascript:alert(1)', 'Leave out the scheme ("https://"): write a name such as go.acme.com.'],
    ['1.2.3.4', 'An IP address is not a host name: write a name such as go.acme.com.'],
    ['go\u2800\u3164.acme.com', 'Leave out blank characters: write go.acme.com.'],
    [
      'аpple.com',
      'Write each label, the text between two dots, in the letters of one script: write a name such as go.acme.com.',
    ],
    [
      'acme.com⁄path',
      'Leave out characters that look like a slash, a dot, a colon or other punctuation: write a name such as go.acme.com.',
    ],
    [`${'a.'.repeat(50)}.de`, 'Put one dot between labels and none at the start: write a name such as go.acme.com.'],
  ]
  for (const [text, message] of hints) {
    test(`suggests a replacement for ${shown(text)}`, () => assert.equal(refusalOf(text).message, message))
  }

  test('suggests a name under a public suffix', () => {
    assert.match(refusalOf('co.uk').message, /: write a name such as go\.acme\.co\.uk\.$/)
  })
})

describe('parseHostName with any text', () => {
  test('returns short and harmless messages', () => {
    for (const text of Object.values(refused).flat()) assertHarmless(text, refusalOf(text))
    fc.assert(
      fc.property(hostLike, (text) => {
        const found = parseHostName(text)
        if (found instanceof Refusal) assertHarmless(text, found.at('name'))
      }),
      { numRuns },
    )
  })

  test('accepts only stable, well-formed names', () => {
    const input = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 80 }),
      fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
      unicodeName,
      aLabelName,
      fc.domain(),
      fc.webAuthority({ withPort: true, withUserInfo: true, withIPv4Extended: true }),
      hostLike,
    )
    fc.assert(
      fc.property(input, (text) => {
        const found = parseHostName(text)
        if (!(found instanceof Refusal)) assertSound(found)
      }),
      { numRuns: 7 * numRuns },
    )
  })

  test('accepts every plain name in any case, except numbers and suffixes', () => {
    fc.assert(
      fc.property(fc.domain({ size: 'small' }), fc.constantFrom('', '.'), (name, rootDot) => {
        const host = `a.${name}`
        fc.pre(host.length <= 253 && !/xn--/i.test(host))
        const found = parseHostName(host.toUpperCase() + rootDot)
        if (found instanceof Refusal) assert.equal(found.code, 'public_suffix')
        else assert.deepEqual(found, { name: host.toLowerCase(), nameUnicode: host.toLowerCase() })
      }),
      { numRuns },
    )
  })
})

describe('parseHostName, however long its name,', () => {
  const chinese = Array.from({ length: 1024 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
  const hostile = [
    ...[' ', ...'a a. a- -. - _- . @ : / * ü ü. аb. xn--4ca. xn--a. \u00ad'.split(' ')],
    ...['\u0301\u0316', 'e\u0301', 'ノ', 'ꭰ.', '㌀', '\ufdfa', '…', '❤.', '\ud800', 'ᄀ', '\u3164', '۰1'],
  ].map((part) => part.repeat(1024 / part.length))

  test('examines 1024 characters in a limited number of steps', (t) => {
    const { mock: matches } = t.mock.method(RegExp.prototype, 'exec')
    const { mock: normalizations } = t.mock.method(String.prototype, 'normalize')
    for (const text of [...hostile, chinese, `a${'\u0345'.repeat(511)}${'\u0334'.repeat(511)}`]) {
      parseHostName(text)
      assert.ok(matches.callCount() <= 3 * 1024, `${shown(text)}: ${matches.callCount()}`)
      assert.ok(normalizations.callCount() <= 4, `${shown(text)}: ${normalizations.callCount()}`)
      matches.resetCalls()
      normalizations.resetCalls()
    }
  })

  test('limits the input of Punycode and normalization', () => {
    for (const text of [chinese, `a${'\u0301\u0316'.repeat(500)}`, `${chinese.slice(0, 64)}.de`])
      assert.equal(refusalOf(text).code, 'label_too_long')
    assert.equal(refusalOf(`${chinese.slice(0, 50)}.`.repeat(6)).code, 'too_long')
    for (const [text, name] of [
      [`${'J\u030c'.repeat(40)}.de`, `${'ǰ'.repeat(40)}.de`],
      [`${'a\u00ad\u0308'.repeat(40)}.de`, `${'ä'.repeat(40)}.de`],
      [`${'\u00ad'.repeat(500)}ü.de`, 'ü.de'],
    ] as const) {
      const found = parseHostName(text)
      assert.equal(found instanceof Refusal ? found.code : found.nameUnicode, name)
    }
  })
})

const numRuns = runs(400)

const hostLike = fc
  .array(
    fc.oneof(
      fc.constantFrom('.', '-', '--', 'xn--', ':', '/', '//', '\\', '@', '*', '_', '%', '%2e', '?', '#', '[', ']', ' '),
      fc.constantFrom(...'。．｡\u00ad\u200d\u0301ßςİK１ｘ\ufeff\u2024⁄\u2800\u3164аノ'),
      fc.constantFrom('com', 'co.uk', 'github.io', 'acme', 'https:', 'xn--kln-sna', 'xn--a', '0x7f', '1', '127', '::1'),
      fc.string({ maxLength: 3 }),
      fc.string({ unit: anyCharacter, maxLength: 2 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

const unicodeName = fc
  .array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 })
  .map((labels) => labels.join('.'))

const aLabelName = fc
  .array(fc.stringMatching(/^(?:xn--|XN--)?[a-zA-Z\d-]{1,8}$/), { minLength: 1, maxLength: 3 })
  .map((labels) => labels.join('.'))

function assertSound({ name, nameUnicode }: HostName): void {
  assert.match(name, /^(?!-)[a-z\d-]{1,63}(?<!-)(?:\.(?!-)[a-z\d-]{1,63}(?<!-))*$/)
  assert.ok(name.length <= 253)
  assert.equal(isIP(name), 0)
  assert.doesNotMatch(name, /^[\d.]+$/)
  assert.equal(new URL(`http://${name}`).hostname, name)
  assert.equal(new URL(`http://${nameUnicode}`).hostname, name)
  assert.deepEqual(parseHostName(name), { name, nameUnicode })
  assert.deepEqual(parseHostName(nameUnicode), { name, nameUnicode })
}

function assertHarmless(text: string, { message }: Violation): void {
  assert.match(message, /^[A-Z][\p{Script=Latin}\d "():,./-]{20,180}\.$/u)
  if (text.length > 64) assert.ok(!message.includes(text), message)
}

function refusalOf(text: string): Violation {
  const found = parseHostName(text)
  assert.ok(found instanceof Refusal, `${shown(text)} was accepted`)
  return found.at('name')
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

test('only a registered name is an apex', () => {
  for (const name of ['acme.com', 'acme.co.uk', 'xn--bcher-kva.example', 'acme.github.io', 'wiki.corp', 'localhost'])
    assert.ok(isApex(name), name)
  for (const name of ['go.acme.com', 'go.acme.co.uk', 'a.b.acme.com', 'go.acme.github.io', 'go.wiki.corp'])
    assert.ok(!isApex(name), name)
})

test('finds likely typos of common top-level domains, but not private names and addresses', () => {
  for (const [host, last] of [
    ['acme.con', 'con'],
    ['www.acme.con.', 'con'],
    ['shop.acme.comm', 'comm'],
    ['acme.cmo', 'cmo'],
    ['acme.or', 'or'],
    ['acme.ogr', 'ogr'],
    ['acme.nett', 'nett'],
    ['acme.dee', 'dee'],
    ['acme.ioo', 'ioo'],
  ] as const)
    assert.equal(mistypedTopLevel(host), last, host)
  const known = [
    'acme.com',
    'acme.com.',
    'go.acme.co.uk',
    'acme.github.io',
    'acme.xn--p1ai',
    'x.ck',
    'acme.dev',
    'acme.cm',
  ]
  const own = ['localhost', 'wiki', 'con', 'app.localhost', 'nas.local', 'wiki.corp', 'db.internal', 'router.lan']
  const others = ['wiki.acme', 'foo.k8s', 'x.localdomain', 'api.svc', 'x.db', 'acme.xn--bcher-kva', 'x.intra']
  const special = ['go.example', 'a.test', 'a.onion', 'router.home.arpa', '127.0.0.1', '10.0.0.8', '[::1]', '']
  for (const host of [...known, ...own, ...others, ...special]) assert.equal(mistypedTopLevel(host), null, host)
})
