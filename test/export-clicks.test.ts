/** `waymark export clicks`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createAccount } from '../src/accounts/store.ts'
import { openStorage } from '../src/storage/open.ts'
import { openClicks } from './clicks.ts'
import { runHere } from './command-line.ts'
import { newLocation } from './engine.ts'
import { newDomain, newLink } from './links.ts'
import { newFolder } from './processes.ts'

const noon = Date.parse('2026-11-20T12:00:00.000Z')
const dayMs = 86_400_000

/** An account with a link that was clicked on three days, and the command line at its database. */
async function newPlace(t: TestContext) {
  const location = await newLocation((work) => t.after(work))
  const storage = await openStorage(location)
  t.after(() => storage.close())
  const { id: account } = await createAccount(storage, 'Acme')
  const domain = await newDomain(storage, account, 'go.acme.com')
  const link = await newLink(storage, { account, domain }, 'sale')
  const { store } = await openClicks(location, (work) => t.after(work))
  const clicks = [0, 1, 2].map((day) => ({
    ...{ link, atMs: noon + day * dayMs, count: 1, class: 'person' as const, facts: null },
    visitorUnder: () => 1,
  }))
  await store.write(1, clicks)
  const DATABASE_URL = location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url
  const run = (...args: string[]) => runHere(args, { variables: { DATABASE_URL } })
  return (...args: string[]) => run('export', 'clicks', ...args)
}

test('exports a period as JSON Lines with short links', async (t) => {
  const say = await newPlace(t)
  const { code, stdout, stderr } = await say('--from', '2026-11-21', '--to', '2026-11-21')
  assert.deepEqual([code, stderr], [0, ''])
  const [, line, end, ...more] = stdout
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text))
  assert.equal(more.length, 0)
  const { link_id, short_link, day } = line.click_day
  assert.deepEqual([link_id, short_link, day], [1, 'go.acme.com/sale', '2026-11-21'])
  assert.deepEqual(end, { end: { click_days: 1 } })
})

test('exports CSV to a file, and replaces it only with --force', async (t) => {
  const say = await newPlace(t)
  const file = join(newFolder(t), 'clicks.csv')
  for (const [args, code] of [
    [[], 0],
    [[], 1],
    [['--force'], 0],
  ] as const) {
    assert.equal((await say(file, '--format', 'csv', ...args)).code, code)
  }
  const rows = readFileSync(file, 'utf8').split('\r\n')
  assert.equal(rows.length, 1 + 3 * 7 + 1)
  assert.equal(rows[0], 'day,short_url,link_id,dimension,value,clicks,unique_clicks,bots,previews,time_zone')
  assert.equal(rows[1], '2026-11-20,http://go.acme.com:3080/sale,1,total,,1,1,0,0,UTC')
  assert.equal(rows[2], '2026-11-20,http://go.acme.com:3080/sale,1,countries,(unknown),1,,,,UTC')
  const since = await say('--format', 'csv', '--from', '2026-11-22')
  assert.equal(since.stdout.split('\r\n')[1], '2026-11-22,http://go.acme.com:3080/sale,1,total,,1,1,0,0,UTC')
  const told = await say(file, '--force', '--to', '2026-11-19')
  assert.equal(told.stderr, `Exported to ${file}. click_days: 0.\n`)
})
