import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Reader } from 'mmdb-lib'
import { encodeInteger, encodeMap, encodeText } from '../../../scripts/mmdb.ts'
import { countryDatabase, databaseOf, databaseWith, fileWith } from '../../../test/country-database.ts'
import { Countries } from './countries.ts'
import known from './known-countries.test.json' with { type: 'json' }

const bundled = readFileSync(new URL('countries.mmdb', import.meta.url))
const countries = Countries.readBundled()

for (const [address, country] of [
  ['8.8.8.8', 'US'],
  ['88.198.0.1', 'DE'],
  ['88.198.0.1:4711', 'DE'],
  ['::ffff:88.198.0.1', 'DE'],
  ['2a02:8108::1', 'DE'],
  ['[2a02:8108::1]:4711', 'DE'],
  ['2001:4860:4860::8888', 'US'],
  ['10.1.2.3', null],
  ['127.0.0.1', null],
  ['192.168.1.1', null],
  ['100.64.0.1', null],
  ['169.254.1.1', null],
  ['::ffff:192.168.1.1', null],
  ['::1', null],
  ['fd00::1', null],
  ['fe80::1%eth0', null],
  ['2002::1', null],
  ['2001:10::1', null],
  ['2001:0:53aa:64c::1', null],
  ['', null],
  ['unknown', null],
  ['1.2.3', null],
] as const) {
  test(`${country} for ${address}`, () => assert.equal(countries.of(address, ''), country))
}

test('prefers the header to the IP address, even if it is unknown', () => {
  for (const [header, country] of [
    ['FR', 'FR'],
    [' fr ', 'FR'],
    ['XK', 'XK'],
    ['XX', null],
    ['T1', null],
    ['EU', null],
    ['ZZ', null],
    ['France', null],
    ['F', null],
    ['FR,DE', null],
    ['\u0130\u0130', null],
  ] as const) {
    assert.equal(countries.of('88.198.0.1', header), country, header)
  }
})

test('finds the countries of at least 97% of known IPv4 and IPv6 addresses in the bundled data', () => {
  for (const isSix of [false, true]) {
    const addresses = known.filter(([address]) => address?.includes(':') === isSix)
    const agreeing = addresses.filter(([address = '', country]) => countries.of(address, '') === country)
    const share = agreeing.length / addresses.length
    assert.ok(share >= 0.97, `${agreeing.length} of ${addresses.length}`)
  }
  assert.ok(known.length >= 300)
  assert.ok(new Set(known.map(([, country]) => country)).size >= 50)
})

test('NOTICE names the source, the date and the license of the bundled data', () => {
  const { metadata } = new Reader(bundled)
  const notice = readFileSync(new URL('../../../NOTICE', import.meta.url), 'utf8')
  for (const text of ['IPFire Location Database', 'https://location.ipfire.org/', 'CC BY-SA 4.0']) {
    assert.ok(notice.includes(text), text)
    assert.ok(JSON.stringify(metadata.description).includes(text), text)
  }
  assert.ok(notice.includes(metadata.buildEpoch.toISOString().slice(0, 10)))
})

test('returns null for IPv6 addresses in an IPv4 database', async (t) => {
  const four = Countries.read(fileWith(t, countryDatabase('DE')))
  assert.equal(four.of('88.198.0.1', ''), 'DE')
  assert.equal(four.of('2a02:8108::1', ''), null)
})

for (const [publisher, record, country] of [
  ['MaxMind', encodeMap({ country: encodeMap({ iso_code: encodeText('SE') }) }), 'SE'],
  ['IPinfo', encodeMap({ country: encodeText('Sweden'), country_code: encodeText('SE') }), 'SE'],
  ['ip-location-db', encodeMap({ country_code: encodeText('SE') }), 'SE'],
  [
    'MaxMind, where only the registration is known',
    encodeMap({ registered_country: encodeMap({ iso_code: encodeText('SE') }) }),
    null,
  ],
] as const) {
  test(`${country} in a database with the fields of ${publisher}`, async (t) => {
    const own = Countries.read(fileWith(t, databaseWith(record)))
    assert.equal(own.of('88.198.0.1', ''), country)
  })
}

test('returns null for a damaged record', async (t) => {
  const range = (first: bigint, record: Buffer) => ({ first, last: first + 255n, record })
  const damaged = range(0x58c60000n, Buffer.from([0xff]))
  const good = range(0x58c60100n, encodeMap({ country_code: encodeText('DE') }))
  const partly = Countries.read(fileWith(t, databaseOf([damaged, good])))
  assert.equal(partly.of('88.198.0.1', ''), null)
  assert.equal(partly.of('88.198.1.1', ''), 'DE')
})

const rule = "must name a database of countries or cities in MaxMind's format (.mmdb)."
const { searchTreeSize } = new Reader(bundled).metadata
const damaged = Buffer.from(bundled).fill(0xff, searchTreeSize + 32, bundled.lastIndexOf('MaxMind.com') - 100)
const withoutCountries = databaseWith(encodeMap({ autonomous_system_number: encodeInteger(64_496, 'uint32') }))

for (const [what, bytes, reason] of [
  ['empty file', Buffer.alloc(0), 'is not a MaxMind DB file, or is truncated.'],
  ['text file', Buffer.from('text'), 'is not a MaxMind DB file, or is truncated.'],
  ['file without its end', bundled.subarray(0, -200), 'is not a MaxMind DB file, or is truncated.'],
  ['file without its beginning', bundled.subarray(1_000), 'is not a MaxMind DB file, or is truncated.'],
  ['file without countries', withoutCountries, 'has no countries. Its type is "Test".'],
  ['file with damaged records', damaged, 'is damaged.'],
  ['file with a hole in its tree', Buffer.from(bundled).fill(0, 100_000, 104_096), 'is damaged.'],
] as const) {
  test(`rejects a ${what}`, (t) => {
    const path = fileWith(t, bytes)
    const message = `${rule} ${path} ${reason}`
    assert.throws(() => Countries.read(path), { message })
  })
}
