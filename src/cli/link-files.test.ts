import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newPlace as newAccount } from '../../test/command-line.ts'
import { newFolder } from '../../test/processes.ts'

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
