/**
 * Builds `src/analytics/capture/countries.mmdb` from the files `geoip` and `geoip6` of the Tor Project, which are text exports of the IPFire
 * Location Database: `npm run countries -- FOLDER`. CONTRIBUTING.md says where to get them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AddressRange, encodeDatabase, encodeMap, encodeText } from './mmdb.ts'

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const folder = process.argv[2]
if (folder === undefined) throw new Error('Usage: npm run countries -- FOLDER')
const [four, six] = ['geoip', 'geoip6'].map((name) => readFileSync(join(folder, name), 'utf8')) as [string, string]

const generated = /^# Generated: (.+)$/m.exec(four)?.[1]
if (generated === undefined || !six.includes(generated)) {
  throw new Error('Both files must name the same date in a line "# Generated: …".')
}
const builtAt = new Date(generated)
const date = builtAt.toISOString().slice(0, 10)
const ranges = [...rangesIn(four), ...rangesIn(six)].sort((a, b) => (a.first < b.first ? -1 : 1))
const database = encodeDatabase(ranges, {
  ipVersion: 6,
  type: 'Waymark-Country',
  description: `Countries from the IPFire Location Database of ${date}, https://location.ipfire.org/, CC BY-SA 4.0`,
  builtAt,
})
writeFileSync(new URL('../src/analytics/capture/countries.mmdb', import.meta.url), database)
process.stdout.write(`${ranges.length} ranges of ${date} in ${database.length} bytes\n`)

/** Reads lines such as `16777216,16777471,AU` or `2001:200::,2001:200:ffff:…,JP`. Leaves out `??` and obsolete codes. */
function rangesIn(text: string): AddressRange[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(',') as [string, string, string])
    .map(([first, last, code]) => [first, last, code === 'UK' ? 'GB' : code] as const)
    .filter(([, , code]) => /^[A-Z]{2}$/.test(code) && regions.of(code) !== undefined)
    .map(([first, last, code]) => ({
      first: integerOf(first),
      last: integerOf(last),
      record: encodeMap({ country: encodeMap({ iso_code: encodeText(code) }) }),
    }))
}

function integerOf(address: string): bigint {
  if (!address.includes(':')) return BigInt(address)
  const [head = '', tail = ''] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}
