/** `waymark export` and `waymark import`. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { systemActor } from '../src/access/actor.ts'
import { createAccount, findTimeZones, updateAccount } from '../src/accounts/store.ts'
import { domainRecords, insertDomain } from '../src/domains/store.ts'
import { changeSpace, insertSpace, spaceRecords } from '../src/spaces/store.ts'
import { openStorage } from '../src/storage/open.ts'
import { actionsOn } from './actions.ts'
import { commandsWith, newPlace, type Place } from './command-line.ts'
import { firstPage } from './first-page.ts'
import { eventually, newFolder } from './processes.ts'
import { repository } from './scripts.ts'
import { commandArguments, waymark } from './waymark.ts'

async function fill({ storage }: Place, count: number): Promise<void> {
  await storage.write(async (tx) => {
    for (let n = 0; n < count; n++) {
      const urls = { homepage_url: n % 2 ? `https://acme.com/${n}` : null, not_found_url: null }
      await insertDomain(tx, systemActor(1), { name: `d${n}.acme.com`, nameUnicode: `d${n}.acme.com` }, urls)
      // Many have the same name and time.
      await insertSpace(tx, systemActor(1), { name: `Space ${n % 3}`, color: 1 + (n % 6) })
    }
  })
}

/** Returns all records of an account without their ids. */
async function recordsOf({ storage }: Place, account = 1) {
  const all = { ...firstPage, limit: 100_000 }
  const [domains, spaces] = [
    await domainRecords.list(storage, account, all),
    await spaceRecords.list(storage, account, all),
  ]
  return {
    domains: domains.rows.map(({ id, ...domain }) => domain),
    spaces: spaces.rows.map(({ id, ...space }) => space),
  }
}

/** Copies the database. */
async function cloneOf(t: TestContext, { storage }: Place): Promise<Place> {
  const path = join(newFolder(t), 'clone.db')
  assert.ok(storage.location.engine === 'sqlite')
  using original = new DatabaseSync(storage.location.path)
  original.exec(`vacuum into '${path}'`)
  const clone = await openStorage({ engine: 'sqlite', path })
  t.after(() => clone.close())
  const variables = { DATABASE_URL: `sqlite:${path}` }
  return { storage: clone, variables, ...commandsWith(variables) }
}

function ofYear(year: number) {
  const time = `${year}-01-02T03:04:05.678Z`
  return { created_at: time, updated_at: time }
}

test('imports what was exported, under other ids', async (t) => {
  const [from, to] = [await newPlace(t), await newPlace(t)]
  await fill(from, 700)
  const file = join(newFolder(t), 'export.jsonl')
  const stderr = `Exported to ${file}. domains: 700, spaces: 700, tags: 0, links: 0, click_days: 0.\n`
  assert.deepEqual(await from.run(`export ${file}`), { code: 0, stdout: '', stderr })
  assert.equal(await to.say(`import ${file}`), 'Records stored: 1400, already present: 0, rejected: 0.')
  assert.deepEqual(await recordsOf(to), await recordsOf(from))
  // Another export of either database has the same lines, apart from ids.
  const withoutIds = (text: string) =>
    text
      .trimEnd()
      .replace(/^.*\n/, '')
      .replace(/"id":\d+,/g, '')
  assert.equal(withoutIds(await to.say('export')), withoutIds(readFileSync(file, 'utf8')))
})

test('imports the time zones of the account, unless its own zone was ever set', async (t) => {
  const [from, to, other] = [await newPlace(t), await newPlace(t), await newPlace(t)]
  const setZone = ({ storage }: Place, time_zone: string) =>
    updateAccount(storage, systemActor(1), { name: 'Acme', time_zone }, 1_000)
  await setZone(from, 'Asia/Kolkata')
  await setZone(other, 'Europe/Berlin')
  const file = join(newFolder(t), 'export.jsonl')
  const text = await from.say('export')
  writeFileSync(file, `${text}\n`)
  for (const place of [to, other]) await place.say(`import ${file}`)
  const zones = await Promise.all([from, to, other].map(({ storage }) => findTimeZones(storage, 1)))
  assert.deepEqual(
    zones.map((json) => JSON.parse(json).at(-1)[0]),
    ['Asia/Kolkata', 'Asia/Kolkata', 'Europe/Berlin'],
  )
  assert.equal(zones[0], zones[1])
  assert.doesNotMatch(await from.say('export clicks'), /time_zones/)
  writeFileSync(file, text.replace('Asia/Kolkata', 'Mars/Olympus'))
  await to.fails(`import ${file}`, 1, /names time zones that this server does not know/)
})

test('a killed import continues when it is run again, without missing or duplicate records', async (t) => {
  const [from, to] = [await newPlace(t), await newPlace(t)]
  await fill(from, 1_500)
  const text = await from.say('export')
  const { NODE_V8_COVERAGE: _, ...inherited } = process.env
  const child = spawn(process.execPath, [...commandArguments, 'import'], {
    env: { ...inherited, ...to.variables },
    cwd: repository,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  // Without the end, so the import can't finish by itself.
  child.stdin.write(text.slice(0, text.length * 0.8))
  await eventually(async () => (await recordsOf(to)).spaces.length >= 400)
  child.kill('SIGKILL')
  await once(child, 'close')

  const file = join(newFolder(t), 'export.jsonl')
  writeFileSync(file, `${text}\n`)
  const { stored, known, refused, missing } = await to.json(`import ${file}`)
  assert.deepEqual([stored + known, refused, missing], [3_000, 0, null])
  assert.ok(known >= 1_900 && stored > 0)
  assert.deepEqual(await recordsOf(to), await recordsOf(from))
  assert.equal(await to.say(`import ${file}`), 'Records stored: 0, already present: 3000, rejected: 0.')
})

test('restores the largest files of apps, and rejects a domain that has others', async (t) => {
  const [from, to] = [await newPlace(t), await newPlace(t)]
  const name = 'go.acme.com'
  const domain = { name, nameUnicode: name }
  const files = {
    apple_app_site_association: `{"applinks":{}${'\n'.repeat(24 * 1024 - 15)}}`,
    asset_links: `[${'\t'.repeat(24 * 1024 - 2)}]`,
  }
  await insertDomain(from.storage, systemActor(1), domain, files)
  const file = join(newFolder(t), 'export.jsonl')
  await from.run(`export ${file}`)
  for (let imports = 0; imports < 2; imports++) assert.equal((await to.run(`import ${file}`)).code, 0)
  const [restored] = (await recordsOf(to)).domains
  assert.partialDeepStrictEqual(restored, { name, ...files })
  const other = await newPlace(t)
  await insertDomain(other.storage, systemActor(1), domain, { ...files, asset_links: '[]' })
  const { code, stderr } = await other.run(`import ${file}`)
  assert.equal(code, 1)
  assert.match(stderr, /go\.acme\.com is there already, with other URLs or app links; its id is 1/)
})

test('exits with code 1 and reasons for rejected lines, and stores the others', async (t) => {
  const to = await newPlace(t)
  await createAccount(to.storage, 'Other')
  const here = { homepage_url: 'https://here.example', not_found_url: null }
  await insertDomain(to.storage, systemActor(1), { name: 'mine.example.com', nameUnicode: 'mine.example.com' }, here)
  await insertDomain(
    to.storage,
    systemActor(2),
    { name: 'theirs.example.com', nameUnicode: 'theirs.example.com' },
    here,
  )
  const file = join(newFolder(t), 'export.jsonl')
  const space = (members: object) => JSON.stringify({ space: { id: 7, name: 'New', color: 2, ...members } })
  const domain = (members: object) => JSON.stringify({ domain: { name: 'new.example.com', ...members } })
  const qr_style = { dark: '#0b5c6b', background: '#fff4e0', margin: 2 }
  const [yesterday, tomorrow] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString())
  const lines: (readonly [line: string | Buffer, said?: RegExp])[] = [
    [JSON.stringify({ waymark_export: 1, source: 'elsewhere' })],
    [domain({})],
    [domain({ name: 'MINE.example.com', homepage_url: 'https://here.example' })],
    [
      domain({ name: 'mine.example.com' }),
      /^name: mine\.example\.com is there already, with other URLs or app links; its id is 1\.$/,
    ],
    [domain({ name: 'theirs.example.com' }), /^name: The name theirs\.example\.com has already been taken\./],
    [domain({ name: 'a b', homepage_url: 'x', more: 1 }), /^name: .* homepage_url: .* more: /],
    [domain({ name: 'late.example.com', created_at: 'now' }), /^created_at and updated_at: /],
    [domain({ name: 'late.example.com', created_at: '2026-02-30T00:00:00.000Z' }), /^created_at and updated_at: /],
    [domain({ name: 'late.example.com', updated_at: '2026-02-03T00:00:00.000Z' }), /^created_at and updated_at: /],
    [domain({ name: 'late.example.com', created_at: tomorrow }), /^created_at: The time is in the future\.$/],
    [domain({ name: 'style.example.com', qr_style: 1 }), /^qr_style: The value is not an object\.$/],
    [
      domain({ name: 'style.example.com', qr_style: { dark: '#fff', margin: 99, logo: '' } }),
      /^qr_style\.dark: .* qr_style\.background: .* qr_style\.margin: /,
    ],
    [
      domain({ name: 'style.example.com', qr_style: { ...qr_style, dark: '#ffffff' } }),
      /^qr_style\.dark: Scanners expect a dark code/,
    ],
    [
      domain({ name: 'style.example.com', qr_style: { ...qr_style, logo: 'PHN2Zz4=' } }),
      /^qr_style\.logo: The value is not a logo that Waymark exported\. Set it to null\.$/,
    ],
    [domain({ qr_style })],
    [domain({ qr_style })],
    [
      domain({ qr_style: { ...qr_style, margin: 3 } }),
      /^qr_style: The domain already has QR codes in another style; its id is \d+\.$/,
    ],
    [domain({})],
    [space({ id: 9, created_at: yesterday, updated_at: tomorrow }), /^updated_at: The time is in the future\.$/],
    [space({ id: 9, created_at: tomorrow, updated_at: yesterday }), /^updated_at: The time is before created_at\.$/],
    [space({})],
    [space({})],
    [
      space({ name: 'Renamed' }),
      /^id: It was imported before, as space 1, which now differs from it\. --as-new stores it under a new id\.$/,
    ],
    [space({ id: 8, color: 9 }), /^color: /],
    [space({ id: undefined }), /^id: A space needs the id that it has at its source/],
    [space({ id: 1.5 }), /^id: /],
    ['', /^The line is not a JSON object/],
    ['nonsense', /^The line is not a JSON object/],
    ['[]', /^The line is not a JSON object/],
    ['{"toString":{}}', /^The line is not a JSON object/],
    ['{"domain":null}', /^The line is not a JSON object/],
    ['{"domain":{},"space":{}}', /^The line is not a JSON object/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /^The line is longer than 256 KiB, or is not UTF-8\.$/],
    [
      domain({ homepage_url: `https://${'x'.repeat(270_000)}` }),
      /^The line is longer than 256 KiB, or is not UTF-8\.$/,
    ],
    [domain({ name: 'last.example.com', created_at: '2020-01-02T03:04:05.678Z' })],
    [JSON.stringify({ end: { domains: 'many' } }), /^The "end" must have the number of records of each kind\.$/],
    [JSON.stringify({ end: {} })],
  ]
  writeFileSync(file, Buffer.concat(lines.flatMap(([line]) => [Buffer.from(line), Buffer.from('\n')])))

  const { code, stdout, stderr } = await to.run(`import ${file} --account 1`)
  const said = stderr.trimEnd().split('\n')
  const expected = lines.flatMap(([, reason], index) => (reason === undefined ? [] : [{ line: index + 1, reason }]))
  assert.equal(said.length, expected.length, stderr)
  for (const [index, { line, reason }] of expected.entries()) {
    const [, number, sentence = ''] = /^Line (\d+): (.*)$/.exec(said[index] ?? '') ?? []
    assert.equal(Number(number), line)
    assert.match(sentence, reason)
  }
  assert.deepEqual([code, stdout], [1, `Records stored: 3, already present: 5, rejected: ${expected.length}.\n`])
  const { domains, spaces } = await recordsOf(to)
  assert.deepEqual(
    domains.map(({ name }) => name),
    ['mine.example.com', 'new.example.com', 'last.example.com'],
  )
  assert.deepEqual([domains[2]?.created_at, domains[2]?.updated_at], Array(2).fill('2020-01-02T03:04:05.678Z'))
  assert.deepEqual(
    spaces.map(({ name, color }) => [name, color]),
    [['New', 2]],
  )
})

test('keeps records from SQLite to PostgreSQL and back, also with two concurrent imports', async (t) => {
  const [from, over, to] = [await newPlace(t), await newPlace(t, 'postgres'), await newPlace(t)]
  await fill(from, 300)
  const folder = newFolder(t)
  const [there, back] = [join(folder, 'there.jsonl'), join(folder, 'back.jsonl')]
  await from.run(`export ${there}`)
  const twice = () => waymark(t, ['import', there, '--json'], over.variables)
  const both = await Promise.all([twice(), twice()])
  const imported = both.map(({ stdout }) => JSON.parse(stdout))
  for (const { refused, missing } of imported) assert.deepEqual([refused, missing], [0, null])
  assert.equal(imported[0].stored + imported[1].stored, 600)
  assert.deepEqual(await recordsOf(over), await recordsOf(from))
  await over.run(`export ${back}`)
  await to.say(`import ${back}`)
  assert.deepEqual(await recordsOf(to), await recordsOf(from))
})

test("an account's own export restores deleted records, without duplicates", async (t) => {
  const place = await newPlace(t)
  await fill(place, 4)
  const file = join(newFolder(t), 'all.jsonl')
  await place.run(`export ${file}`)
  const before = await recordsOf(place)
  await actionsOn(place.storage).actions.spaces.remove(systemActor(1), 2, {}, null)
  assert.equal(await place.say(`import ${file}`), 'Records stored: 1, already present: 7, rejected: 0.')
  assert.equal((await recordsOf(place)).spaces.length, before.spaces.length)
  assert.equal((await place.json(`import ${file}`)).stored, 0)
})

test('a changed copy rejects ids of other records; --as-new stores them once under new ids', async (t) => {
  const from = await newPlace(t)
  await insertSpace(from.storage, systemActor(1), { name: 'Shared', color: 1 })
  await insertSpace(from.storage, systemActor(1), { name: 'Renamed', color: 1 })
  const clone = await cloneOf(t, from)
  await changeSpace(clone.storage, systemActor(1), 2, { name: 'Renamed here' }, null)
  // Each gives out the ids 3 and 4; the last two spaces differ only in their times.
  await insertSpace(from.storage, systemActor(1), { name: 'Theirs', color: 2 }, ofYear(2020))
  await insertSpace(from.storage, systemActor(1), { name: 'Same', color: 3 }, ofYear(2020))
  await insertSpace(clone.storage, systemActor(1), { name: 'Ours', color: 2 }, ofYear(2021))
  await insertSpace(clone.storage, systemActor(1), { name: 'Same', color: 3 }, ofYear(2021))
  const [theirs, ours] = [join(newFolder(t), 'theirs.jsonl'), join(newFolder(t), 'ours.jsonl')]
  await from.run(`export ${theirs}`)

  const { code, stdout, stderr } = await clone.run(`import ${theirs}`)
  assert.deepEqual([code, stdout], [1, 'Records stored: 0, already present: 1, rejected: 3.\n'])
  assert.match(stderr, /^Line 3: id: The space 2 now differs from it\. --as-new stores it under a new id\.$/m)
  assert.match(stderr, /^Line 4: id: The space 3 is another record here, created at 2021-\S+Z\. --as-new /m)
  assert.match(stderr, /^Line 5: id: The space 4 is another record here, created at 2021-\S+Z\. --as-new /m)

  const again = `import ${theirs} --as-new`
  assert.equal(await clone.say(again), 'Records stored: 3, already present: 1, rejected: 0.')
  assert.deepEqual(
    (await recordsOf(clone)).spaces.map(({ name }) => name),
    ['Shared', 'Renamed here', 'Ours', 'Same', 'Renamed', 'Theirs', 'Same'],
  )
  // Another import stores no duplicates, and the copy recognizes its own export.
  assert.equal(await clone.say(again), 'Records stored: 0, already present: 4, rejected: 0.')
  await clone.run(`export ${ours}`)
  assert.equal(await clone.say(`import ${ours}`), 'Records stored: 0, already present: 7, rejected: 0.')
})

test('exits with code 1 for a truncated file and for other files', async (t) => {
  const [from, to] = [await newPlace(t), await newPlace(t)]
  await fill(from, 2)
  const text = (await from.run('export')).stdout
  const lines = text.split(/(?<=\n)/)
  const file = join(newFolder(t), 'export.jsonl')
  const importOf = async (content: string) => {
    writeFileSync(file, content)
    const { code, stdout, stderr } = await to.run(`import ${file}`)
    assert.equal(code, 1)
    return stdout + stderr
  }
  const cutOff = /^Records stored: \d, .*\nThe file is truncated: its last line is not the "end"\.\n$/
  assert.match(await importOf(lines.slice(0, -1).join('')), cutOff)
  assert.match(
    await importOf(`${lines.slice(0, 2).join('')}${lines.at(-1)}`),
    /\nThe file should have 4 records, but it has 1\.\n$/,
  )
  assert.match(
    await importOf(lines.slice(0, 3).join('').slice(0, -9)),
    /^Records stored: 0, .*\nThe file is truncated: .*\nLine 3: The line is not a JSON object with one member: /,
  )
  assert.equal(await importOf(''), 'The file is not a Waymark export: its first line is not a header.\n')
  assert.equal(await importOf('{"a":1}\n'), 'The file is not a Waymark export: its first line is not a header.\n')
  assert.match(await importOf(text.replace('"waymark_export":1', '"waymark_export":2')), /^The file has format 2, but /)
  assert.match(
    await importOf(text.replace(/"source":"\w+"/, '"source":" "')),
    /^The file is incomplete: its header has no "source", /,
  )
})

test('exits with code 1 or 2 and a reason for invalid files and arguments', async (t) => {
  const { storage, run, fails } = await newPlace(t)
  const folder = newFolder(t)
  const file = join(folder, 'export.jsonl')
  writeFileSync(file, 'something else')
  for (const [line, code, message] of [
    [`import ${folder}/missing`, 1, /^The file \S+missing doesn't exist\.$/],
    [`import ${folder}`, 1, /^\S+ is a folder\. Choose a file in it\.$/],
    [`import ${file}/below`, 1, /^Can't read \S+: ENOTDIR.*\.$/],
    [`export ${folder}/missing/file`, 1, /^Can't write \S+: the folder \S+ doesn't exist\.$/],
    [`export ${file}`, 1, /^The file \S+ already exists\. .*--force\.$/],
    ['export --account 7', 1, 'Account 7 doesn\'t exist. To see all accounts, run "npx waymark accounts list".'],
    [`import ${file} ${file}`, 2, `Unexpected argument "${file}".`],
  ] as const) {
    await fails(line, code, message)
  }
  assert.equal(readFileSync(file, 'utf8'), 'something else')
  assert.equal((await run(`export ${file} --force`)).code, 0)
  await createAccount(storage, 'Other')
  await fails(`import ${file}`, 2, /^The database has several accounts\. /)
})
