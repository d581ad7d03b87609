import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Around, newPlace as newEmptyPlace } from '../../test/command-line.ts'
import { newFolder } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'

/** Creates an account with the domain go.acme.com. `say` runs a command that must succeed, and returns its output. */
async function newPlace(t: TestContext, engine: 'sqlite' | 'postgres' = 'sqlite') {
  const { storage, run } = await newEmptyPlace(t, engine)
  await createAccount(storage, 'Acme')
  const say = async (line: string, around?: Around) => {
    const { code, stdout, stderr } = await run(line.split(' '), around)
    assert.deepEqual([code, stderr], [0, ''], line)
    return stdout
  }
  await say('domains create go.acme.com')
  return { storage, run: (line: string, around?: Around) => run(line.split(' '), around), say, folder: newFolder(t) }
}

test('exports links with the filters of a list to standard output or a file', async (t) => {
  const { run, say, folder } = await newPlace(t)
  for (const options of ['a --tag Sale', 'b --tag Sale --archived true', 'c --title Winter']) {
    await say(`links create https://acme.com --alias ${options}`)
  }
  const [head, ...lines] = (await say('links export --tag sale --archived any')).split('\r\n')
  assert.match(String(head), /^id,domain_id,space_id,alias,/)
  assert.deepEqual(
    lines.map((line) => line.split(',')[3] ?? ''),
    ['a', 'b', ''],
  )
  const rows = (await say('links export - --format jsonl --search WIN')).trimEnd().split('\n')
  assert.deepEqual(
    rows.map((row) => JSON.parse(row).alias),
    ['c'],
  )

  const file = join(folder, 'links.csv')
  const written = { code: 0, stdout: '', stderr: `Exported to ${file}. links: 2.\n` }
  assert.deepEqual(await run(`links export ${file}`), written)
  assert.equal(readFileSync(file, 'utf8').split('\r\n').length, 4)
  const again = await run(`links export ${file}`)
  assert.deepEqual([again.code, /already exists\. .* --force\.\n$/.test(again.stderr)], [1, true])
  const invalid = await run('links export --format xlsx --status gone')
  assert.equal(invalid.code, 2)
  assert.match(invalid.stderr, /^--format: The format must be one of csv, jsonl\.\n--status: /)
})

test('draws the QR code of a link as SVG or PNG', async (t) => {
  const { run, say, folder } = await newPlace(t)
  await say('links create https://acme.com --alias a')
  assert.match(await say('links qr a --margin 2'), /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="512"/)
  const file = join(folder, 'a.PNG')
  const written = { code: 0, stdout: '', stderr: `Wrote the QR code of http://go.acme.com:3080/a to ${file}.\n` }
  assert.deepEqual(await run(`links qr http://go.acme.com:3080/a --output ${file} --size 256`), written)
  assert.equal(readFileSync(file).toString('latin1', 1, 4), 'PNG')
  assert.match(await say('links qr a --format png'), /PNG/)

  const atTerminal = await run('links qr a --format png', { isTerminal: true })
  assert.deepEqual([atTerminal.code, atTerminal.stdout], [2, ''])
  assert.match(atTerminal.stderr, /^A terminal can't show a PNG\. Choose a file with --output\.\n/)
  const small = await run('links qr a --size 10 --level X')
  assert.equal(small.code, 2)
  assert.match(
    small.stderr,
    /^--size: The size must be an integer from 64 to 2048\.\n--level: The level must be one of /,
  )
  assert.equal((await run('links qr b')).code, 1)
})
