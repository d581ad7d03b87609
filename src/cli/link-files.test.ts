import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { newPlace as newAccount, typed } from '../../test/command-line.ts'
import { newFolder } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'

/** Creates an account with the domain go.acme.com, and a folder. */
async function newPlace(t: TestContext, engine: 'sqlite' | 'postgres' = 'sqlite') {
  const place = await newAccount(t, engine)
  await place.say('domains create go.acme.com')
  return { ...place, folder: newFolder(t) }
}

test('exports links with the filters of a list to standard output or a file', async (t) => {
  const { run, say, fails, folder } = await newPlace(t)
  for (const options of ['a --tag Sale', 'b --tag Sale --archived true', 'c --title Winter']) {
    await say(`links create https://acme.com --alias ${options}`)
  }
  const [head, ...lines] = (await say('links export --tag sale --archived any')).split('\r\n')
  assert.match(String(head), /^id,domain_id,space_id,alias,/)
  assert.deepEqual(
    lines.map((line) => line.split(',')[3] ?? ''),
    ['a', 'b'],
  )
  assert.equal(JSON.parse(await say('links export - --format jsonl --search WIN')).alias, 'c')

  const file = join(folder, 'links.csv')
  const written = { code: 0, stdout: '', stderr: `Exported to ${file}. links: 2.\n` }
  assert.deepEqual(await run(`links export ${file}`), written)
  assert.equal(readFileSync(file, 'utf8').split('\r\n').length, 4)
  await fails(`links export ${file}`, 1, /already exists\. .* --force\.$/)
  await fails(`links export ${file}/x`, 1, /^Can't write \S+\/x: /)
  const invalid = /^--format: The format must be one of csv, jsonl\.\n--status: /
  await fails('links export --format xlsx --status gone', 2, invalid)
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`imports CSV after a dry run on ${engine}`, async (t) => {
    const { run, say, json, folder } = await newPlace(t, engine)
    await say('spaces create Summer')
    await say('links create https://acme.com --alias taken')
    const file = join(folder, 'links.csv')
    const rows = [
      'Destination;Alias;Domain;Space;Tags',
      'acme.com/a;a;go.acme.com;summer;Sale, Print',
      '',
      'https://b.example;;;;',
    ]
    writeFileSync(file, rows.join('\n'))
    assert.equal(
      await say(`links import ${file}`),
      [
        'ROW  SHORT URL                  URL',
        '2    http://go.acme.com:3080/a  https://acme.com/a',
        '4    http://go.acme.com:3080/…  https://b.example',
        '\n2 links can be created. Nothing is stored yet: add --yes to create them.',
      ].join('\n'),
    )
    assert.equal((await json('links list')).length, 1)

    const { stored, links, errors } = await json(`links import ${file} --yes`)
    assert.deepEqual([stored, errors, links.map(({ row }: { row: number }) => row)], [true, [], [2, 4]])
    assert.deepEqual([links[0].tags, links[0].space_id, links[1].space_id], [['Print', 'Sale'], 1, null])
    assert.equal(links[1].short_url, (await json('links list'))[0].short_url)

    writeFileSync(
      file,
      'url,alias,domain_id,Space,Click limit\nx y,,,,\nhttps://c.example,TAKEN,,Winter,0\nhttps://c.example,c,,,\nhttps://c.example,C,a.example,,\nhttps://c.example,d,,,,,x',
    )
    const sentences = [
      'Row 2, column url: Leave out white space, or encode it as %20: write a URL such as https://acme.com/summer.',
      'Row 3, column Click limit: “Click limit” must be a whole number from 1 to 1,000,000,000.',
      'Row 3, column Space: The account has no space "Winter".',
      'Row 5, column domain_id: The account has no domain "a.example".',
      'Row 6: The row has 7 cells, but the first row has 5. Put cells with commas in double quotes.',
    ]
    for (const options of ['', ' --yes']) {
      const refused = await run(`links import ${file}${options}`)
      assert.deepEqual([refused.code, refused.stderr.trimEnd().split('\n').toSorted()], [1, sentences.toSorted()])
      assert.match(
        refused.stdout,
        /\n\nNothing was stored, because 4 rows have errors\. Correct the file, or add --yes --skip-errors to create the other 1 link\.\n$/,
      )
    }
    const none = await run('links import', { input: Readable.from(['url\nx y']) })
    assert.deepEqual([none.code, none.stdout], [1, 'Nothing was stored, because 1 row has errors. Correct the file.\n'])
    assert.equal((await json('links list')).length, 3)
    const input = Readable.from([readFileSync(file)])
    const partly = await run('links import - --space Summer --yes --skip-errors --json', { input })
    assert.equal(partly.code, 1)
    const result = JSON.parse(partly.stdout)
    assert.deepEqual([result.links[0].row, result.links[0].space_id, result.errors.length], [4, 1, 5])
    const again = await run(`links import ${file} --skip-existing`)
    assert.match(
      again.stdout,
      /^Nothing was stored, because 4 rows have errors\. .* 1 row left out, whose alias exists already\.\n$/,
    )
    assert.deepEqual(result.errors[0], { row: 2, column: 'url', code: 'has_space', message: sentences[0]?.slice(19) })
  })
}

test('names --skip-existing if the only errors of an import are taken aliases', async (t) => {
  const { run, say, folder } = await newPlace(t)
  const file = join(folder, 'links.csv')
  const importOf = async (lines: readonly string[], options = '') => {
    writeFileSync(file, ['url,alias', ...lines].join('\n'))
    const { code, stdout } = await run(`links import ${file} --yes${options}`)
    return [code, stdout.trimEnd().split('\n').at(-1)]
  }
  const two = ['https://acme.com,a', 'https://acme.com,b']
  assert.deepEqual(await importOf(two), [0, 'Created 2 links.'])
  const refused = 'Nothing was stored, because 2 rows have errors. Correct the file, or add --'
  const left = '2 rows left out, whose alias exists already.'
  assert.deepEqual(await importOf(two), [1, `${refused}skip-existing to leave out rows whose alias exists already.`])
  assert.deepEqual(await importOf(two, ' --skip-existing'), [0, `Nothing to create. ${left}`])

  const three = [...two, 'https://acme.com,c']
  assert.deepEqual(await importOf(three), [1, `${refused}yes --skip-existing to create the other 1 link.`])
  const other = [1, `${refused.replace('2', '3')}yes --skip-errors to create the other 1 link.`]
  assert.deepEqual(await importOf([...three, 'x y,d']), other)
  assert.deepEqual(await importOf(three, ' --skip-existing'), [0, `Created 1 link. ${left}`])
  assert.equal((await say('links list')).split('\n').length, 4)
})

test('rejects files that it cannot import, and stores no link', async (t) => {
  const { storage, say, fails, folder } = await newPlace(t)
  const file = join(folder, 'links.csv')
  for (const [content, message] of [
    ['', /^There are no rows\. /],
    ['PK\x03\x04\0', 'This is not a text file. Save the table as CSV in your spreadsheet.'],
    ['url\nhttps://acme.com\n"x', /^In row 3, column 1, the quote in line 3 is never closed\. /],
    ['alias\na', /^No column is named Destination\. /],
    [
      `url\n${'https://acme.com\n'.repeat(5_001)}`,
      /^There are 5,001 rows, and one import takes up to 5,000\. Split the file into 2/,
    ],
    [
      'url,Owner\nhttps://acme.com,Ana',
      /^The column “Owner” is unknown\. Rename or delete it, or add --skip-unknown to leave out unknown columns\. /,
    ],
  ] as const) {
    writeFileSync(file, content)
    await fails(`links import ${file} --yes`, 1, message)
  }
  assert.match(await say(`links import ${file} --skip-unknown`), /1 link can be created\./)
  await fails(`links import ${folder}/none.csv`, 1, `The file ${folder}/none.csv doesn't exist.`)
  await fails('links import - --space Winter', 1, /^--space: The account has no space "Winter"\. /)
  await createAccount(storage, 'Empty')
  await fails(`links import ${file} --skip-unknown --account 2`, 1, /^The account has no domain yet\. /)
  assert.equal(await say('links list --account 1 --json'), '[]')
})

test('says that it reads from a terminal, and sends no control characters there', async (t) => {
  const { say, run, folder } = await newPlace(t)
  const file = join(folder, 'links.csv')
  const terminal = await run('links import', typed(['https://acme.com']))
  assert.match(terminal.stderr, /^Reading rows from the terminal\. End them with Ctrl-D/)
  const evil = '\u001b]0;x\u0007\u009b2K\u202e'
  for (const csv of [`url,${evil}\nx,y`, `url,domain,title\nhttps://acme.com,"${evil}\nRow 9","${evil}"`]) {
    writeFileSync(file, csv)
    for (const options of ['', ' --json']) {
      const { code, stdout, stderr } = await run(`links import ${file}${options}`)
      assert.deepEqual([code, /[^\P{Cc}\n]|[\u202e]|^Row 9/mu.test(stdout + stderr)], [1, false])
    }
  }
  writeFileSync(file, 'url,title\nhttps://acme.com,abc\u202edef')
  await say(`links import ${file} --yes`)
  assert.match(await say('links list'), /abc\ufffddef/)
  assert.match(await say('links list --json'), /"abc\\u202edef"/)
  const [header] = (await run('export')).stdout.split('\n')
  const rejected = await run('import', {
    input: Readable.from([Buffer.from(`${header}\n{"space":{"id":1,"\\u001b[1m":1}}\n`)]),
  })
  assert.match(rejected.stderr, /^Line 2: .*The \ufffd\[1m field is unknown/)
})

test('imports more than 1,000 links in several transactions, and names the last row before a failure', async (t) => {
  const { storage, json, fails } = await newPlace(t)
  assert.ok(storage.location.engine === 'sqlite')
  const database = new DatabaseSync(storage.location.path)
  // As if someone else took the alias between the check and the second transaction.
  database.exec(`create trigger taken before insert on links when new.alias = 'a1001' begin select raise(ignore); end`)
  database.close()
  const rows = Array.from({ length: 1_002 }, (_, n) => `https://acme.com,a${n}`)
  const input = Readable.from([['url,alias', ...rows].join('\n')])
  const message =
    'Row 1003: The alias a1001 has already been taken on this domain. Choose another alias. The links up to row 1001 were created. Import the other rows again.'
  await fails('links import --yes', 1, message, { input })
  assert.equal((await json('links list --search a999')).length, 1)
  assert.equal((await json('links list --search a1000')).length, 0)
})

test('draws the QR code of a link as SVG or PNG', async (t) => {
  const { run, say, fails, folder } = await newPlace(t)
  await say('links create https://acme.com --alias a')
  assert.match(await say('links qr a --margin 2'), /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="512"/)
  const file = join(folder, 'a.PNG')
  const written = { code: 0, stdout: '', stderr: `Wrote the QR code of http://go.acme.com:3080/a to ${file}.\n` }
  assert.deepEqual(await run(`links qr http://go.acme.com:3080/a --output ${file} --size 256`), written)
  assert.equal(readFileSync(file).toString('latin1', 1, 4), 'PNG')
  assert.match(await say('links qr a --format png'), /PNG/)
  const unnamed = '--output: Choose a name that ends in .svg or .png, or add --format.'
  await fails(`links qr a --output ${folder}/a.jpg`, 2, unnamed)
  const atTerminal = "A terminal can't show a PNG. Choose a file with --output."
  await fails('links qr a --format png', 2, atTerminal, { isTerminal: true })
  const small = /^--size: The size must be an integer from 64 to 2048\.\n--level: The level must be one of /
  await fails('links qr a --size 10 --level X', 2, small)
  await fails('links qr b', 1, /^No link has the alias b\. /)
})
