import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { type Around, newPlace as newEmptyPlace } from '../../test/command-line.ts'
import { createAccount } from '../accounts/store.ts'
import { insertDomain } from '../domains/store.ts'
import { removeLink } from '../links/store.ts'
import { parseHostName } from '../names/host-name.ts'
import { insertSpace } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'

/**
 * Creates an account with the domains go.acme.com and bücher.example and the spaces Summer, Winter and winter. `say` runs a
 * command that must succeed, and returns its output.
 */
async function newPlace(t: TestContext, engine: 'sqlite' | 'postgres' = 'sqlite') {
  const { storage, run: runAny } = await newEmptyPlace(t, engine)
  await createAccount(storage, 'Acme')
  for (const name of ['go.acme.com', 'bücher.example']) await addDomain(storage, name)
  for (const name of ['Summer', 'Winter', 'winter']) await insertSpace(storage, 1, { name, color: 1 })
  const run = (args: readonly string[], around?: Around) => runAny(['links', ...args], around)
  const say = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args)
    assert.deepEqual([code, stderr], [0, ''])
    return stdout.trimEnd()
  }
  return { storage, say, run }
}

async function addDomain(storage: Storage, text: string): Promise<void> {
  const name = parseHostName(text)
  assert.ok('name' in name)
  await insertDomain(storage, 1, name, { homepage_url: null, not_found_url: null })
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`creates, lists, shows and deletes links on ${engine}`, async (t) => {
    const { run, say } = await newPlace(t, engine)
    for (const domain of ['go.acme.com', 'bücher.example']) {
      await say('create', 'https://acme.com', '--alias', 'Ähre', '--space', 'SUMMER', '--domain', domain)
    }
    assert.equal((await run(['show', 'ähre'])).code, 2)
    assert.equal(JSON.parse(await say('list', '--search', 'ÄHRE', '--space', 'summer', '--json')).length, 2)
    await say('delete', 'ÄHRE', '--domain', 'go.acme.com', '--yes')
    assert.equal(JSON.parse(await say('show', 'ähre', '--json')).domain_id, 2)
  })
}

test('create warns on stderr of a destination that is probably wrong', async (t) => {
  const { run, say } = await newPlace(t)
  const typo = await run(['create', 'https://acme.con', '--alias', 'typo'])
  const warning = 'Check the destination: acme.con ends in ".con", which isn\'t a known top-level domain.\n'
  assert.deepEqual(typo, { code: 0, stdout: 'http://go.acme.com:3080/typo\n', stderr: warning })
  await say('create', 'acme.com', '--alias', 'first')
  const own = await run(['create', 'http://go.acme.com:3080/first', '--alias', 'second'])
  assert.equal(own.code, 0)
  assert.equal(own.stderr, 'Check the destination: http://go.acme.com:3080/first is one of your own short links.\n')
})

test('returns 1 for a domain that no account can have', async (t) => {
  const { run } = await newPlace(t)
  const { code, stderr } = await run(['create', 'https://acme.com', '--domain', ' foo'])
  assert.deepEqual(
    [code, stderr],
    [1, '--domain: The account has no domain "foo". To see all domains, run "npx waymark domains list".\n'],
  )
})

test('create prints only the short URL, or the record with --json', async (t) => {
  const { say } = await newPlace(t)
  assert.match(await say('create', 'https://acme.com/a'), /^http:\/\/go\.acme\.com:3080\/[2-9b-z]{7}$/)
  const options = ['--alias', 'Été', '--domain', 'BÜCHER.example.', '--space', 'summer', '--title', ' Sale ', '--json']
  const link = JSON.parse(await say('create', 'https://acme.com/b', ...options))
  assert.deepEqual(
    [link.id, link.domain_id, link.space_id, link.alias, link.title, link.url, link.status],
    [2, 2, 1, 'Été', 'Sale', 'https://acme.com/b', 'active'],
  )
  assert.equal(link.short_url, 'http://xn--bcher-kva.example:3080/%C3%89t%C3%A9')
  assert.equal(await say('create', 'https://acme.com/c', '--alias', 'c'), 'http://go.acme.com:3080/c')
})

test('returns 2 and reports all violations of the API rules with their options', async (t) => {
  const { run, say } = await newPlace(t)
  const title = 'x'.repeat(256)
  const { code, stdout, stderr } = await run(['create', '//acme.com', '--alias', 'robots.txt', '--title', title])
  assert.deepEqual([code, stdout], [2, ''])
  const [url, alias, ofTitle, empty, usage] = stderr.split('\n')
  assert.match(String(url), /^URL: The URL must be absolute, /)
  assert.equal(alias, '--alias: The alias robots.txt is reserved. Choose another alias.')
  assert.equal(ofTitle, '--title: The title must be at most 255 characters long.')
  assert.deepEqual([empty, usage?.slice(0, 37)], ['', 'Usage: npx waymark links create URL ['])
  const status = await run(['list', '--status', 'gone'])
  assert.equal(status.code, 2)
  assert.match(status.stderr, /^--status: The status must be one of active, scheduled, expired, disabled\.\n\nUsage: /)
  const domain = await run(['list', '--domain', 'https://go.acme.com'])
  assert.equal(domain.code, 2)
  assert.match(domain.stderr, /^--domain: Leave out the scheme \("https:\/\/"\): write go\.acme\.com\.\n\nUsage: /)
  assert.equal(await say('list', '--json'), '[]')
})

test('returns 1 when a value conflicts with existing records', async (t) => {
  const { run, say, storage } = await newPlace(t)
  await say('create', 'https://acme.com', '--alias', 'Sale')
  for (const [words, sentence] of [
    [
      'create https://acme.com --alias SALE',
      '--alias: The alias SALE has already been taken on this domain. Choose another alias.',
    ],
    [
      'create https://go.acme.com/me --alias me',
      "URL: The url leads to the link's own short URL, http://go.acme.com:3080/me.",
    ],
    [
      'create https://acme.com --domain a.example',
      '--domain: The account has no domain "a.example". To see all domains, run "npx waymark domains list".',
    ],
    [
      'create https://acme.com --space autumn',
      '--space: The account has no space "autumn". To see all spaces, run "npx waymark spaces list".',
    ],
    ['list --tag 7', '--tag: The account has no tag "7". To see all tags, run "npx waymark tags list".'],
    ['update none --title x', 'No link has the alias none. To see all links, run "npx waymark links list".'],
    [
      'update sale --url http://go.acme.com:3080/sale',
      "--url: The url leads to the link's own short URL, http://go.acme.com:3080/Sale.",
    ],
    [
      'create https://acme.com --account 7',
      'Account 7 doesn\'t exist. To see all accounts, run "npx waymark accounts list".',
    ],
    ['show none', 'No link has the alias none. To see all links, run "npx waymark links list".'],
    [
      'show sale --domain bücher.example',
      'No link on bücher.example has the alias sale. To see all links, run "npx waymark links list".',
    ],
    ['delete none --yes', 'No link has the alias none. To see all links, run "npx waymark links list".'],
  ] as const) {
    assert.deepEqual(await run(words.split(' ')), { code: 1, stdout: '', stderr: `${sentence}\n` })
  }
  await createAccount(storage, 'Empty')
  const { code, stderr } = await run(['create', 'https://acme.com', '--account', '2'])
  assert.equal(code, 1)
  assert.equal(stderr, '--domain: The account has no domain yet. Create one with "npx waymark domains create NAME".\n')
  const unsaid = await run(['list'])
  assert.match(unsaid.stderr, /^The database has several accounts\. Choose one with --account ID\. /)
})

test('creates and updates links with every field of the API, and filters lists by tags and archived', async (t) => {
  const { run, say } = await newPlace(t)
  const options = ['--tag', 'Sale', '--tag', 'print, Sale', '--notes', 'For Ana', '--redirect-status', '301']
  const created = JSON.parse(await say('create', 'https://acme.com', '--alias', 'a', ...options, '--json'))
  assert.deepEqual([created.tags, created.notes, created.redirect_status], [['print', 'Sale'], 'For Ana', 301])
  const changes = ['--alias', 'b', '--space', 'Summer', '--notes', '', '--archived', 'true', '--tag', 'sale']
  assert.equal(await say('update', 'A', ...changes), 'http://go.acme.com:3080/b')
  const link = JSON.parse(await say('show', 'b', '--json'))
  assert.deepEqual([link.notes, link.archived, link.tags, link.space_id, link.title], [null, true, ['Sale'], 1, null])
  const cleared = JSON.parse(await say('update', 'b', '--space', '', '--tag', '', '--json'))
  assert.deepEqual([cleared.space_id, cleared.tags], [null, []])

  await say('create', 'https://acme.com', '--alias', 'c', '--tag', 'Sale', '--tag', 'Print')
  await say('create', 'https://acme.com', '--alias', 'd', '--tag', 'Sale')
  const listed = async (...args: string[]) =>
    JSON.parse(await say('list', '--sort', 'asc', ...args, '--json')).map(({ alias }: { alias: string }) => alias)
  assert.deepEqual(await listed('--tag', 'sale', '--tag', 'PRINT'), ['c'])
  assert.deepEqual(await listed('--archived', 'any', '--sort-by', 'alias'), ['b', 'c', 'd'])

  const typo = await run(['update', 'c', '--url', 'https://acme.con'])
  assert.deepEqual([typo.code, /^Check the destination: acme\.con /.test(typo.stderr)], [0, true])
  const invalid = await run(['update', 'c', '--url', '//acme.com', '--disabled', 'yes', '--tag', 'x'.repeat(51)])
  const [url, disabled, tags, empty] = invalid.stderr.split('\n')
  assert.deepEqual([invalid.code, empty], [2, ''])
  assert.match(String(url), /^--url: The URL must be absolute, /)
  assert.equal(disabled, '--disabled: The disabled must be true or false.')
  assert.equal(tags, '--tag: The tags must be at most 50 characters long.')
})

test('finds a link by its pasted short URL', async (t) => {
  const { run, say } = await newPlace(t)
  await say('create', 'https://acme.com', '--alias', 'Sale/Summer')
  for (const text of [
    'go.acme.com/sale/summer',
    'http://GO.acme.com:3080/Sale/Summer/',
    'https://go.acme.com/sale/summer+',
  ]) {
    assert.equal(JSON.parse(await say('show', text, '--json')).alias, 'Sale/Summer')
    assert.equal(JSON.parse(await say('list', '--search', text, '--json')).length, 1)
  }
  assert.equal((await run(['show', 'bücher.example/sale/summer'])).code, 1)
})

test('accepts a space by ID or unique name', async (t) => {
  const { run, say, storage } = await newPlace(t)
  await insertSpace(storage, 1, { name: '3', color: 1 })
  await insertSpace(storage, 1, { name: '2026', color: 1 })
  for (const [space, id] of [
    ['2', 2],
    ['3', 3],
    ['2026', 5],
    [' SUMMER ', 1],
  ] as const) {
    assert.equal(JSON.parse(await say('create', 'https://acme.com', '--space', space, '--json')).space_id, id)
  }
  const { code, stderr } = await run(['create', 'https://acme.com', '--space', 'winter'])
  assert.equal(code, 2)
  const sentence = '--space: Several spaces are named winter. Use an ID instead: 2, 3.'
  assert.ok(stderr.startsWith(`${sentence}\n\nUsage: `), stderr)
})

test('list shows the newest links first and applies filters', async (t) => {
  const { run, say } = await newPlace(t)
  await say('create', 'https://acme.com/first?x=1', '--alias', 'one', '--title', 'y'.repeat(50), '--space', '1')
  await say('create', 'https://acme.com/2', '--alias', 'two', '--domain', 'xn--bcher-kva.example')
  await say('create', 'https://acme.com/3', '--alias', 'three')
  assert.equal(
    (await say('list')).replaceAll(/ {2,}/g, '|'),
    [
      'ID|SHORT URL|STATUS|CLICKS|TITLE|URL',
      '3|http://go.acme.com:3080/three|active|0|https://acme.com/3',
      '2|http://xn--bcher-kva.example:3080/two|active|0|https://acme.com/2',
      `1|http://go.acme.com:3080/one|active|0|${'y'.repeat(39)}…|https://acme.com/first?x=1`,
    ].join('\n'),
  )
  const aliases = async (...options: string[]) =>
    JSON.parse(await say('list', '--json', ...options)).map(({ alias }: { alias: string }) => alias)
  assert.deepEqual(await aliases(), ['three', 'two', 'one'])
  assert.deepEqual(await aliases('--domain', 'GO.acme.com'), ['three', 'one'])
  assert.deepEqual(await aliases('--space', 'summer'), ['one'])
  assert.deepEqual(await aliases('--space', '0'), ['three', 'two'])
  assert.deepEqual(await aliases('--search', 'ONE'), ['one'])
  assert.deepEqual(await aliases('--search', 'first?'), ['one'])
  assert.deepEqual(await aliases('--status', 'expired'), [])
  assert.deepEqual(await aliases('--status', 'active', '--space', '0', '--search', 'acme.com/3'), ['three'])
  const { code, stdout, stderr } = await run(['list', '--limit', '2'])
  assert.deepEqual([code, stdout.split('\n').length], [0, 4])
  assert.equal(stderr, 'Showing 2 of 3 links. Raise --limit, or add a filter.\n')
})

test('show prints every field, and requires --domain if several domains have the alias', async (t) => {
  const { run, say, storage } = await newPlace(t)
  await say('create', 'https://acme.com/a', '--alias', 'Sale')
  const lines = (await say('show', 'sALE')).split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual(lines.slice(0, 6), [
    ['id', '1'],
    ['domain_id', '1'],
    ['space_id', '-'],
    ['alias', 'Sale'],
    ['short_url', 'http://go.acme.com:3080/Sale'],
    ['url', 'https://acme.com/a'],
  ])
  assert.equal(lines.length, Object.keys(JSON.parse(await say('show', 'Sale', '--json'))).length)

  await say('create', 'https://acme.com/b', '--alias', 'sale', '--domain', 'bücher.example')
  const ambiguous = await run(['show', 'sale'])
  assert.equal(ambiguous.code, 2)
  const named = 'Several domains have a link with the alias sale. Choose one with --domain: '
  assert.ok(ambiguous.stderr.startsWith(`${named}go.acme.com, xn--bcher-kva.example.\n\nUsage: `), ambiguous.stderr)
  assert.equal(JSON.parse(await say('show', 'sale', '--domain', 'bücher.example', '--json')).id, 2)

  for (let n = 0; n < 10; n++) {
    await addDomain(storage, `d${n}.example`)
    await say('create', 'https://acme.com', '--alias', 'sale', '--domain', `d${n}.example`)
  }
  assert.match(
    (await run(['delete', 'sale', '--yes'])).stderr,
    /--domain: go\.acme\.com, .*, d7\.example and others\.\n/,
  )
})

test('accepts an alias with a hyphen after --, and an alias equal to the database path', async (t) => {
  const { run, say, storage } = await newPlace(t)
  await say('create', 'https://acme.com', '--alias=-x')
  assert.equal(JSON.parse(await say('show', '--json', '--', '-x')).alias, '-x')
  assert.ok(storage.location.engine === 'sqlite')
  assert.match((await run(['show', storage.location.path])).stderr, /^No link has the alias /)
})

test('delete asks for confirmation at a terminal', async (t) => {
  const { run, say } = await newPlace(t)
  await say('create', 'https://acme.com', '--alias', 'sale')
  const typing = (text: string) => ({ input: Object.assign(Readable.from(text === '' ? [] : [text]), { isTTY: true }) })
  const question = 'Delete http://go.acme.com:3080/sale, which redirects to https://acme.com? [y/N] '
  for (const [typed, after] of [
    ['n\n', ''],
    ['\n', ''],
    ['yesterday\n', ''],
    ['', '\n'],
  ] as const) {
    const said = await run(['delete', 'sale'], typing(typed))
    assert.deepEqual(said, { code: 1, stdout: 'Nothing deleted.\n', stderr: question + after })
  }
  await say('show', 'sale')
  assert.deepEqual(await run(['delete', 'SALE'], typing('Yes\n')), {
    code: 0,
    stdout: 'The link http://go.acme.com:3080/sale was deleted.\n',
    stderr: question,
  })
  assert.equal((await run(['show', 'sale'])).code, 1)
})

test('delete requires --yes without a terminal', async (t) => {
  const { run, say } = await newPlace(t)
  await say('create', 'https://acme.com', '--alias', 'sale')
  const { code, stdout, stderr } = await run(['delete', 'sale'], { input: Readable.from(['y\n']) })
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(
    stderr,
    /https:\/\/acme\.com\?\nCan't ask without a terminal\. Add --yes to confirm\.\n\nUsage: npx waymark links delete ALIAS /,
  )
  assert.equal(await say('delete', 'sale', '--yes'), 'The link http://go.acme.com:3080/sale was deleted.')
  assert.equal(await say('list', '--json'), '[]')
})

test('delete fails if the link is deleted during the confirmation', async (t) => {
  const { run, say, storage } = await newPlace(t)
  await say('create', 'https://acme.com', '--alias', 'sale')
  const gone = async function* () {
    await storage.write((db) => removeLink(db, 1, 1, null))
    yield 'y\n'
  }
  const { code, stderr } = await run(['delete', 'sale'], {
    input: Object.assign(Readable.from(gone()), { isTTY: true }),
  })
  assert.equal(code, 1)
  assert.match(stderr, /\[y\/N\] The link http:\/\/go\.acme\.com:3080\/sale was already deleted\.\n$/)
})
