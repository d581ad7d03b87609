import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { countryDatabase, fileWith } from '../../../test/country-database.ts'
import { Countries, CountryFile, type CountryFileReport, openCountries } from './countries.ts'

const address = '88.198.0.1'

async function place(t: TestContext, bytes: Buffer) {
  const path = fileWith(t, bytes)
  const reports: CountryFileReport[] = []
  const file = await CountryFile.open(path, (report) => reports.push(report))
  await file.check()
  const country = () => file.of(address, '')
  /** Checks until a change is settled, and read. */
  const checkTwice = async () => {
    await file.check()
    await file.check()
  }
  return { path, reports, file, country, checkTwice }
}

function replaceByPipe(path: string): void {
  rmSync(path)
  execFileSync('mkfifo', [path])
}

test('uses a replaced file that is unchanged for two checks', async (t) => {
  const { path, reports, file, country } = await place(t, countryDatabase('SE'))
  writeFileSync(path, countryDatabase('NO'))
  await file.check()
  assert.equal(country(), 'SE')
  await file.check()
  assert.equal(country(), 'NO')
  assert.deepEqual(reports, [{ isUsed: true, message: `Country data reloaded from GEOIP_DB ${path}.` }])
})

test('detects a change of the same size and time, in place and by a rename', async (t) => {
  const { path, country, checkTwice } = await place(t, countryDatabase('SE'))
  const { atime, mtime } = statSync(path)
  writeFileSync(path, countryDatabase('NO'))
  utimesSync(path, atime, mtime)
  await checkTwice()
  assert.equal(country(), 'NO')
  writeFileSync(`${path}.new`, countryDatabase('FI'))
  utimesSync(`${path}.new`, atime, mtime)
  renameSync(`${path}.new`, path)
  await checkTwice()
  assert.equal(country(), 'FI')
})

for (const [what, damage, reason] of [
  ['garbage', (path: string) => writeFileSync(path, 'garbage'), /is not a MaxMind DB file, or is truncated\./],
  ['half of a database', (path: string) => writeFileSync(path, countryDatabase('NO').subarray(0, 40)), /truncated\./],
  ['a file larger than 512 MiB', (path: string) => truncateSync(path, 2 ** 29 + 1), /is larger than 512 MiB\./],
  ['a named pipe', replaceByPipe, /is not a regular file\./],
  ['nothing', (path: string) => rmSync(path), /The file cannot be read: ENOENT/],
] as const) {
  test(`reports a file replaced by ${what} once, and keeps the current data`, async (t) => {
    const { path, reports, country, checkTwice } = await place(t, countryDatabase('SE'))
    damage(path)
    await checkTwice()
    await checkTwice()
    assert.equal(country(), 'SE')
    assert.equal(reports.length, 1)
    assert.equal(reports[0]?.isUsed, false)
    const message = reports[0]?.message ?? ''
    assert.match(message, reason)
    assert.ok(message.startsWith("The file of GEOIP_DB can't be used: ") && message.includes(path), message)
    assert.match(message, / Waymark uses the country data read before until it is fixed\.$/)
    rmSync(path, { force: true })
    writeFileSync(path, countryDatabase('NO'))
    await checkTwice()
    assert.equal(country(), 'NO')
  })
}

test('uses the bundled data until an unusable file is fixed', async (t) => {
  const { path, reports, country, checkTwice } = await place(t, Buffer.from('garbage'))
  assert.equal(country(), 'DE')
  assert.match(reports[0]?.message ?? '', / Waymark uses the bundled country data until it is fixed\.$/)
  await checkTwice()
  assert.equal(reports.length, 1)
  writeFileSync(path, 'other garbage')
  await checkTwice()
  assert.match(reports[1]?.message ?? '', / Waymark uses the bundled country data until it is fixed\.$/)
  writeFileSync(`${path}.new`, countryDatabase('NO'))
  copyFileSync(`${path}.new`, path)
  await checkTwice()
  assert.equal(country(), 'NO')
})

test('uses the bundled data without a path', async () => {
  assert.equal((await openCountries(null, assert.ifError)).of(address, ''), 'DE')
})

test('watches the file at a path', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const path = fileWith(t, countryDatabase('SE'))
  const report = Promise.withResolvers<CountryFileReport>()
  const countries = await openCountries(path, report.resolve)
  assert.equal(countries.of(address, ''), 'SE')
  writeFileSync(path, 'garbage')
  let immediate = setImmediate(function tick() {
    t.mock.timers.tick(2_000)
    immediate = setImmediate(tick)
  })
  t.after(() => clearImmediate(immediate))
  assert.equal((await report.promise).isUsed, false)
})

test('shares the bytes of usable data when it is read, and no copy of them', async (t) => {
  const path = fileWith(t, Buffer.from('garbage'))
  const all: SharedArrayBuffer[] = []
  const file = await CountryFile.open(
    path,
    () => undefined,
    (bytes) => all.push(bytes),
  )
  const shared = (at: number) => new Countries(all[at] as SharedArrayBuffer).of(address, '')
  assert.deepEqual([all.length, shared(0), file.of(address, '')], [1, 'DE', 'DE'])
  const replaceBy = async (bytes: Buffer) => {
    writeFileSync(path, bytes)
    await file.check()
    await file.check()
  }
  await replaceBy(countryDatabase('NO'))
  await replaceBy(Buffer.from('other garbage'))
  assert.deepEqual([all.length, shared(0), shared(1), file.of(address, '')], [2, 'DE', 'NO', 'NO'])
  await openCountries(null, assert.ifError, (bytes) => all.push(bytes))
  assert.deepEqual(all[2], all[0])
})
