import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { newPlace as newAccount, typed } from '../../test/command-line.ts'
import { newFolder, startProgram } from '../../test/processes.ts'
import { commandArguments } from '../../test/waymark.ts'

const header = 'Link,Custom Link,Date created,Title,Destination URL,Engagements,Status'
const tea =
  'https://sip.example/4kQz9L,https://sip.example/Tea-Menu,2025-03-09T07:15:00+0000,Tea,https://tea.example/,"2,048",Active'

/** Creates an account with the domain sip.example, and a folder with a file of Bitly with these rows. */
async function newPlace(t: TestContext, rows: readonly string[] = [tea], engine: 'sqlite' | 'postgres' = 'sqlite') {
  const place = await newAccount(t, engine)
  await place.say('domains create sip.example')
  const folder = newFolder(t)
  const file = join(folder, 'bitly.csv')
  const write = (lines: readonly string[]) => writeFileSync(file, [header, ...lines].join('\n'))
  write(rows)
  return { ...place, folder, file, write }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`plans, applies, shows, lists and undoes an import on ${engine}`, async (t) => {
    const { say, json, fails, file } = await newPlace(t, [tea], engine)
    const plan = await say(`move plan ${file}`)
    assert.equal(
      plan,
      `Import 1 from Bitly: planned, 1 row. No link is stored yet.

OUTCOME  COUNT
store    1      New links

2 new addresses; 0 new tags; 2,048 clicks; created from 2025-03-09 to 2025-03-09; times without a zone are in UTC.

What changes or gets lost:
  Click counts: imported as totals for 1 link, because the file has no times

Columns: Link → short_url, Custom Link → short_url, Date created → created_at, Title → title, Destination URL → url, Engagements → clicks, Status → archived

The first rows in their final form:
ROW  SHORT URL                                 URL                   TITLE  TAGS  CREATED     CLICKS
1    sip.example/Tea-Menu, sip.example/4kQz9L  https://tea.example/  Tea    -     2025-03-09  2,048

Next: npx waymark move apply 1`,
    )
    assert.deepEqual(await json('links list'), [])
    const applied = await say('move apply 1')
    assert.match(
      applied,
      /^Import 1 from Bitly: applied, 1 row\.\n[\s\S]*\nNext: npx waymark move proof 1\nTo undo it /,
    )
    const [link] = await json('links list')
    assert.deepEqual([link.alias, link.clicks, link.title], ['Tea-Menu', 2048, 'Tea'])
    assert.equal(await say('move apply 1'), applied)
    assert.equal(await say('move show 1'), applied)
    assert.equal((await json('move show 1')).state, 'applied')
    assert.match(
      await say('move list'),
      /^ID {2}FROM {3}STATE {4}ROWS {2}CREATED\n1 {3}Bitly {2}applied {2}1 {5}\d{4}-/,
    )
    assert.equal((await json('move list'))[0].id, 1)
    const [row] = await json('move rows 1 --outcome store')
    assert.deepEqual([row.link_id, row.addresses.length], [link.id, 2])
    assert.match(await say('move rows 1'), /\n1 {4}2 {5}store {4}sip\.example\/Tea-Menu, sip\./)
    await fails('move undo 1', 2, /^Delete the 1 link of import 1 with their clicks\?\nCan't ask without a terminal\./)
    assert.equal(await say('move undo 1 --yes'), 'Import 1 was undone.')
    assert.deepEqual(await json('links list'), [])
    await fails('move undo 1 --yes', 1, 'The import is undone.')
    await fails('move proof 1', 1, 'The import is undone.')
  })
}

test('plan and apply warn on stderr of values that are probably not meant', async (t) => {
  const { run, say, file } = await newPlace(t, [
    tea,
    tea
      .replaceAll('4kQz9L', 'x')
      .replace('Tea-Menu', 'y')
      .replace('Tea,', 'CafÃ©,')
      .replace('tea.example/', 'tea.con/'),
  ])
  const named = '"CafÃ©" looks like UTF-8 that was read as Windows-1252. It probably means "Café".'
  const typo = `Check the destination: tea.con ends in ".con", which isn't a known top-level domain.`
  const stderr = `Line 3: ${typo}\nLine 3: ${named}\n`
  for (const line of [`plan ${file}`, 'apply 1']) {
    const result = await run(`move ${line}`)
    assert.ok(result.stderr.endsWith(stderr), result.stderr)
    assert.equal(result.code, 0)
  }
  const table = await say('move rows 1 --warning wrong_encoding')
  assert.match(table, /^ROW[^\n]*\n2 [^\n]*$/)
  assert.ok(table.endsWith(` ${typo} ${named}`), table)
})

test('returns 1 for rows with errors, and prints each error, the options for hosts, and how to see more', async (t) => {
  const bad = Array.from({ length: 21 }, (_, n) => `https://sip.example/b${n},,,,x y,0,Active`)
  const other = 'https://old.example/c,,,,https://tea.example/c,0,Active'
  const vendor = 'https://bit.ly/d,,,,https://tea.example/d,0,Active'
  const { run, file } = await newPlace(t, [tea, ...bad, other, vendor])
  const { code, stdout } = await run(`move plan ${file}`)
  assert.equal(code, 1)
  assert.match(stdout, /\nrefuse +23 +Errors, 2 of them without a domain\n/)
  assert.match(
    stdout,
    /\nErrors \(left out; they don’t block the others\): To see all, run npx waymark move rows 1 --outcome refuse --limit 1000\nROW /,
  )
  assert.match(stdout, /\n2 +3 +refuse +sip\.example\/b0 +x y +Leave out white space/)
  assert.match(
    stdout,
    /\n {2}old\.example {2}1 row {2}add --domain-map old\.example=sip\.example, or run npx waymark domains create old\.example\n {2}bit\.ly {7}1 row {2}add --domain-map bit\.ly=sip\.example\n/,
  )
  const rows = await run('move rows 1 --outcome refuse --limit 22')
  assert.match(rows.stderr, /^Showing 22 of 23 rows\. Raise --limit, or add a filter\.\n$/)
  assert.match((await run('move rows 1 --outcome refuse')).stdout, /Map bit\.ly to a domain of yours to copy them\./)
  const mapped = await run(`move plan ${file} --domain-map old.example=sip.example --domain-map bit.ly=SIP.example`)
  assert.match(mapped.stdout, /\nstore +3 +New links\nrefuse +21 +Errors\n/)
  assert.equal((await run('move apply 2')).code, 1)
  assert.equal(JSON.parse((await run('move apply 2 --json')).stdout).outcomes.store, 3)
})

test('resolves conflicts by --conflict, and shows old and new values of updates', async (t) => {
  const { say, run, fails, json, file, write } = await newPlace(t)
  await say('links create https://tea.example/old --alias Tea-Menu --title Old')
  const refused = await run(`move plan ${file}`)
  assert.equal(refused.code, 1)
  assert.match(
    refused.stdout,
    /\nconflict +1 +Conflicts\n[\s\S]*\n1 +2 +conflict +sip\.example.*Link 1 has the address\.\n\nConflicts block the import\. /,
  )
  await fails(
    'move apply 1',
    1,
    '1 row has an address of other links. Plan the import again with --conflict skip, rename or update.',
  )
  assert.match(
    await say(`move plan ${file} --conflict skip`),
    /\nskip +1 +Left out\n[\s\S]*There is nothing to apply\.$/,
  )
  assert.match(await say(`move plan ${file} --conflict rename`), /\n1 +sip\.example\/Tea-Menu-2, /)
  write([tea.replace('4kQz9L,https://sip.example/Tea-Menu', 'Tea-Menu,')])
  const update = await say(`move plan ${file} --conflict update`)
  assert.match(update, /\nChanges of stored links:\n {2}sip\.example\/Tea-Menu: .*title "Old" → "Tea"/)
  await say('move apply 4')
  const [link] = await json('links list')
  assert.deepEqual([link.title, link.url], ['Tea', 'https://tea.example/'])
  assert.equal(await say('move undo 4 --yes'), 'Import 4 was undone.')
  assert.equal((await json('links list'))[0].title, 'Old')
})

test('maps columns of tables from standard input, and asks before it generates aliases', async (t) => {
  const { say, run, fails, json } = await newPlace(t)
  await say('spaces create Shop')
  const csv = (head: string) => ({ input: Readable.from([Buffer.from(`${head}\nhttps://tea.example/,a,Ana\n`)]) })
  const lacks =
    /^--source: No column has the short link or its alias, .* such as --column Name=alias, or add --generate-aliases for new aliases\.$/
  await fails('move plan', 1, lacks, csv('url,Code,Owner'))
  const options = `--column Code=alias --domain-map '*=sip.example' --space shop --tag Moved`
  const planned = await run(`move plan - ${options}`, csv('url,Code,Owner'))
  assert.equal(planned.code, 0)
  assert.match(
    planned.stdout,
    /\nColumns: url → url, Code → alias\nUnknown, left out: Owner\. To read one, add --column 'Owner=FIELD', with url, alias, /,
  )
  assert.match(planned.stdout, /1 new tag; /)
  await say('move apply 1')
  const [link] = await json('links list')
  assert.deepEqual([link.alias, link.space_id, link.tags], ['a', 1, ['Moved']])
  const generated = await run(
    `move plan --generate-aliases --column Owner=- --domain-map '*=sip.example'`,
    csv('url,Code,Owner'),
  )
  assert.match(
    generated.stdout,
    /\nLeft out: Owner\nUnknown, left out: Code\. [\s\S]*\n1 +\(generated\) +https:\/\/tea\.example\//,
  )
  const hostless = await run('move plan', csv('url,alias,Owner'))
  assert.match(hostless.stdout, /\n {2}\(no host\) {2}1 row {2}add --domain-map '\*=sip\.example'\n/)
  const terminal = await run('move plan', typed([`url,alias\nhttps://tea.example/,b\n`]))
  assert.match(
    terminal.stderr,
    /^Reading a file from the terminal\. End it with Ctrl-D, or pass the name of a file\.\n/,
  )
})

test('reads times without a zone in the zone of the account, and leaves out hosts without an error', async (t) => {
  const { say, file } = await newPlace(t)
  await say('accounts create --name Tokyo --time-zone Asia/Tokyo')
  await say('domains create tokyo.example --account 2')
  writeFileSync(
    file,
    'short_url,url,createdAt\ntokyo.example/a,https://tea.example/,2025-03-09 07:15\nbit.ly/b,https://tea.example/,',
  )
  const plan = await say(`move plan ${file} --domain-map bit.ly=- --account 2`)
  assert.match(plan, /created from 2025-03-08 to 2025-03-08; times without a zone are in Asia\/Tokyo\.\n/)
  assert.match(plan, /\nskip +1 +Left out\n/)
  assert.doesNotMatch(plan, /Hosts without a domain/)
})

test('rejects invalid options with 2, and files that it cannot read with 1', async (t) => {
  const { say, run, fails, file, folder } = await newPlace(t)
  await fails(
    `move plan ${file} --conflict merge`,
    2,
    /^--conflict: The conflict must be one of refuse, skip, rename, update\.$/,
  )
  await fails(`move plan ${file} --domain-map sip.example`, 2, /^--domain-map: .* pairs such as a=b/)
  await fails(`move plan ${file} --time-zone Mars`, 2, /^--time-zone: /)
  await fails(`move plan ${file} --generate-aliases=yes`, 2, '--generate-aliases takes no value.')
  await fails(
    `move plan ${file} --domain-map a.example=b.example`,
    1,
    '--domain-map: The account has no domain b.example. Add the domain first.',
  )
  await fails(`move plan ${file} --space None`, 1, /^--space: The account has no space "None"\. /)
  await fails(
    `move plan ${file} --source kutt`,
    1,
    /^--source: The file matches no known format\. It has: Link, Custom Link, /,
  )
  await fails(`move plan ${folder}/none.csv`, 1, `The file ${folder}/none.csv doesn't exist.`)
  await fails(`move plan ${folder}`, 1, `${folder} is a folder. Choose a file in it.`)
  for (const [content, message] of [
    ['', 'FILE: The file has no rows with links.'],
    [header, 'FILE: The file has no rows with links.'],
    [Buffer.from([0xff, 0xfe, 0, 0]), /^The file can’t be read at line 1, column 1: it is in UTF-16\. /],
    [`${header}\n"x`, /^The file can’t be read at line 2, column /],
  ] as const) {
    writeFileSync(file, content)
    await fails(`move plan ${file}`, 1, message)
  }
  await fails('move apply', 2, 'ID is required.')
  await fails('move apply x', 2, 'ID must be the ID of an import, as shown by "npx waymark move list".')
  for (const name of ['apply', 'proof', 'undo --yes', 'show', 'rows']) {
    const [verb, ...options] = name.split(' ')
    await fails(`move ${verb} 7 ${options.join(' ')}`, 1, 'There is no such import.')
  }
  await fails('move rows 1 --outcome lost', 2, /^--outcome: /)
  assert.equal(await say('move list'), 'ID  FROM  STATE  ROWS  CREATED')
  const { code, stderr } = await run('links import links.csv')
  assert.deepEqual(
    [code, stderr.split('\n')[0]],
    [
      2,
      '"npx waymark links import" was removed. Use "npx waymark move plan FILE", and then "npx waymark move apply ID".',
    ],
  )
})

test('sends no control characters of a file to the terminal', async (t) => {
  const evil = '\u001b]0;x\u0007\u009b2K\u202e'
  const { run, folder } = await newPlace(t)
  const file = join(folder, 'evil.csv')
  writeFileSync(
    file,
    `url,short_url,${evil}\n"https://tea.example/${evil}",https://sip.example/${evil},x\nhttps://tea.example,https://${evil}/x,`,
  )
  for (const line of [`move plan ${file}`, 'move rows 1', 'move show 1', 'move rows 1 --json']) {
    const { stdout, stderr } = await run(line)
    assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n]|\u202e/u)
  }
})

test('Ctrl-C stops a plan and an application, kill stops it anywhere, and the next apply continues', async (t) => {
  const count = 6_000
  const rows = Array.from({ length: count }, (_, n) => `https://sip.example/k${n},,,,https://tea.example/${n},1,Active`)
  const { json, variables, storage, file } = await newPlace(t, rows)
  assert.ok(storage.location.engine === 'sqlite')
  const database = new DatabaseSync(storage.location.path, { readOnly: false, timeout: 300_000 })
  t.after(() => database.close())
  const start = (...args: string[]) => startProgram(t, [process.execPath, ...commandArguments, ...args], variables)
  const stored = () => Number(database.prepare('select count(*) as n from links').get()?.n)
  const whenStored = async (least: number) => {
    while (stored() < least) await new Promise((resolve) => setImmediate(resolve))
  }
  const staged = () => Number(database.prepare('select count(*) as n from import_rows').get()?.n)
  const planning = start('move', 'plan', file)
  while (staged() === 0) await new Promise((resolve) => setImmediate(resolve))
  planning.child.kill('SIGINT')
  const stopped = await planning.ended
  assert.deepEqual([stopped.code, stopped.stdout], [1, ''])
  assert.match(stopped.stderr, /Stopped\. Run the command again to continue\.\n$/)
  assert.deepEqual(await json('move list'), [])

  const { id } = await json(`move plan ${file}`)
  const interrupted = start('move', 'apply', String(id))
  await whenStored(1)
  interrupted.child.kill('SIGINT')
  assert.deepEqual([(await interrupted.ended).code, (await json(`move show ${id}`)).state], [1, 'applying'])
  const before = stored()
  assert.ok(before < count, String(before))

  const killed = start('move', 'apply', String(id))
  await whenStored(before + 1)
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.ok(stored() < count)
  // As if the 10 seconds of its lease had passed.
  database.exec('update jobs set free_at_ms = 0')
  const done = await json(`move apply ${id}`)
  assert.deepEqual([done.state, done.outcomes.store, stored()], ['applied', count, count])
})
