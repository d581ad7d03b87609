import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Reader } from 'mmdb-lib'
import { StartupFailure } from '../errors.ts'
import { Countries, checkCountries } from './countries.ts'

const folder = '@ip-location-db/geo-whois-asn-country-mmdb'
const pathOf = (name: string) => fileURLToPath(import.meta.resolve(`${folder}/${name}`))
const packaged = readFileSync(pathOf('geo-whois-asn-country.mmdb'))
const countries = await Countries.open(null)

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
  ['', null],
  ['unknown', null],
  ['1.2.3', null],
] as const) {
  test(`${country} for ${address}`, () => assert.equal(countries.of(address, ''), country))
}

test('a header goes before the address, and says unknown as well', () => {
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

test('a database of IPv4 alone knows no address of IPv6', async () => {
  const alone = await Countries.open(pathOf('geo-whois-asn-country-ipv4.mmdb'))
  assert.equal(alone.of('88.198.0.1', ''), 'DE')
  assert.equal(alone.of('2a02:8108::1', ''), null)
})

test("a database with MaxMind's own fields", async (t) => {
  const own = await Countries.open(fileWith(t, mapping({ country: { iso_code: 'SE' } })))
  assert.equal(own.of('88.198.0.1', ''), 'SE')
  const nowhere = await Countries.open(fileWith(t, mapping({ registered_country: { iso_code: 'SE' } })))
  assert.equal(nowhere.of('88.198.0.1', ''), null)
})

test('damaged records are unknown countries', async (t) => {
  const { searchTreeSize } = new Reader(packaged).metadata
  const damaged = Buffer.from(packaged)
  const end = damaged.lastIndexOf('MaxMind.com') - 100
  // A field's name stays, so that the file passes for a database of countries.
  damaged.fill(0xff, searchTreeSize + 32, end)
  const unlucky = await Countries.open(fileWith(t, damaged))
  assert.equal(unlucky.of('88.198.0.1', ''), null)
})

const start = "GEOIP_DB must name a database of countries or cities in MaxMind's format \\(\\.mmdb\\)\\."

test('a file that cannot be read, is no database, is damaged or has no countries, fails the start', async (t) => {
  await fails(
    join(tmpdir(), 'no-such.mmdb'),
    /The file cannot be read: ENOENT: no such file or directory.*no-such\.mmdb'\.$/,
  )
  await fails(tmpdir(), /The file cannot be read: EISDIR/)
  const other = mapping({ autonomous_system_number: 64_496 })
  for (const bytes of ['', 'text', packaged.subarray(0, -200), packaged.subarray(1_000), other]) {
    await fails(fileWith(t, bytes), /.*value\.mmdb is not one, or is damaged\.$/)
  }
})

test('a file is checked without being kept', (t) => {
  checkCountries(fileWith(t, mapping({ country: { iso_code: 'SE' } })))
  assert.throws(() => checkCountries(tmpdir()), { message: /^must name a database .*EISDIR.*\.$/ })
})

async function fails(path: string, reason: RegExp): Promise<void> {
  const isExpected = (error: unknown) =>
    error instanceof StartupFailure && new RegExp(`^${start} ${reason.source}`).test(error.message)
  await assert.rejects(Countries.open(path), isExpected)
}

function fileWith(t: TestContext, content: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'value.mmdb')
  writeFileSync(file, content)
  return file
}

type Field = string | number | { readonly [name: string]: Field }

/** A database in MaxMind's format that has the same record for all addresses of IPv4. */
function mapping(record: Field): Buffer {
  const marker = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from('MaxMind.com')])
  const metadata = { node_count: 1, record_size: 24, ip_version: 4, database_type: 'Test', build_epoch: 0 }
  const place = 1 + 16
  const node = Buffer.from([0, 0, place, 0, 0, place])
  return Buffer.concat([node, Buffer.alloc(16), field(record), marker, field(metadata)])
}

/** A field of MaxMind's format, of less than 29 bytes or entries. */
function field(value: Field): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.from([0x40 | value.length]), Buffer.from(value)])
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return Buffer.concat([Buffer.from([0xc4]), bytes])
  }
  const entries = Object.entries(value).flatMap(([name, each]) => [field(name), field(each)])
  return Buffer.concat([Buffer.from([0xe0 | Object.keys(value).length]), ...entries])
}
