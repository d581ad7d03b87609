import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { newPlace as newAccount, type Place, typed } from '../../test/command-line.ts'
import { deleteLink } from '../../test/links.ts'
import { createAccount } from '../accounts/store.ts'

/** Creates an account with the domains go.acme.com and bücher.example and the spaces Summer, Winter and winter. */
async function newPlace(t: TestContext, engine: 'sqlite' | 'postgres' = 'sqlite'): Promise<Place> {
  const place = await newAccount(t, engine)
  for (const name of ['go.acme.com', 'bücher.example']) await place.say(`domains create ${name}`)
  for (const name of ['Summer', 'Winter', 'winter']) await place.say(`spaces create ${name} --color 1`)
  return place
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`creates, lists, shows and deletes links on ${engine}`, async (t) => {
    const { run, say, json } = await newPlace(t, engine)
    for (const domain of ['go.acme.com', 'bücher.example']) {
      await say(`links create https://acme.com --alias Ähre --space SUMMER --domain ${domain}`)
    }
    assert.equal((await run('links show ähre')).code, 2)
    assert.equal((await json('links list --search ÄHRE --space summer')).length, 2)
    await say('links delete ÄHRE --domain go.acme.com --yes')
    assert.equal((await json('links show ähre')).domain_id, 2)
  })
}

test('create prints only the short URL, or the record with --json', async (t) => {
  const { say, json } = await newPlace(t)
  assert.match(await say('links create https://acme.com/a'), /^http:\/\/go\.acme\.com:3080\/[2-9b-z]{7}$/)
  const options = "--alias Été --domain BÜCHER.example. --space summer --title ' Sale '"
  const link = await json(`links create https://acme.com/b ${options}`)
  assert.deepEqual(
    [link.id, link.domain_id, link.space_id, link.alias, link.title, link.url, link.status],
    [2, 2, 1, 'Été', 'Sale', 'https://acme.com/b', 'active'],
  )
  assert.equal(link.short_url, 'http://xn--bcher-kva.example:3080/%C3%89t%C3%A9')
  assert.equal(await say('links create https://acme.com/c --alias c'), 'http://go.acme.com:3080/c')
})

test('create and update take rules as JSON', async (t) => {
  const { run, json, fails } = await newPlace(t)
  const rules = [{ name: 'Germany', countries: ['DE'], url: 'https://acme.com/de' }]
  const option = (value: unknown) => `--rules '${JSON.stringify(value)}'`
  const link = await json(`links create https://acme.com --alias a ${option(rules)}`)
  assert.deepEqual(link.rules, rules)
  assert.ok((await run('links show a')).stdout.includes(JSON.stringify(rules)))
  assert.deepEqual((await json(`links update a --title T`)).rules, rules)
  assert.deepEqual((await json(`links update a --rules ''`)).rules, [])
  const message =
    /^--rules\.0\.operating_systems: The rules\.0\.operating_systems must not contain [^ ]+\. Each value must be one of Android, .*\.\n--rules\.0\.url: The rules\.0\.url /
  await fails(`links update a ${option([{ name: 'A', operating_systems: ['ios'] }])}`, 2, message)
})

test('create and update warn on stderr of a destination that is probably wrong', async (t) => {
  const { run, say } = await newPlace(t)
  await say('links create acme.com --alias first')
  const typo = 'acme.con ends in ".con", which isn\'t a known top-level domain.'
  for (const [line, alias, warning] of [
    ['create https://acme.con --alias typo', 'typo', typo],
    ['update typo --url https://acme.con', 'typo', typo],
    [
      'create http://go.acme.com:3080/first --alias second',
      'second',
      'http://go.acme.com:3080/first is one of your own short links.',
    ],
  ] as const) {
    const stdout = `http://go.acme.com:3080/${alias}\n`
    assert.deepEqual(await run(`links ${line}`), { code: 0, stdout, stderr: `Check the destination: ${warning}\n` })
  }
  for (const line of [
    'spaces create Ã¶',
    'spaces update 1 --name Ã¶',
    'tags create Ã¶',
    'links update typo --title Ã¶',
  ]) {
    assert.match((await run(line)).stderr, /^"Ã¶" looks like UTF-8 .*"ö"\.\n$/, line)
  }
})

test('returns 1 or 2 with a message for each option, and stores nothing', async (t) => {
  const { say, json, fails, storage } = await newPlace(t)
  await say('links create https://acme.com --alias Sale')
  const unknown = (option: string, name: string) =>
    `--${option}: The account has no ${option} "${name}". To see all ${option}s, run "npx waymark ${option}s list".`
  const lost = (alias: string) => `No link has the alias ${alias}. To see all links, run "npx waymark links list".`
  for (const [line, code, message] of [
    [
      `create //acme.com --alias robots.txt --title ${'x'.repeat(256)}`,
      2,
      /^URL: The URL must be absolute, .*\n--alias: The alias robots\.txt is reserved\. Choose another alias\.\n--title: The title must be at most 255 characters long\.$/,
    ],
    ['list --status gone', 2, '--status: The status must be one of active, scheduled, expired, disabled.'],
    ['list --domain https://go.acme.com', 2, '--domain: Leave out the scheme ("https://"): write go.acme.com.'],
    ['create https://acme.com --space winter', 2, '--space: Several spaces are named winter. Use an ID instead: 2, 3.'],
    [
      `update sale --url //acme.com --disabled yes --tag ${'x'.repeat(51)}`,
      2,
      /^--url: The URL must be absolute, .*\n--disabled: The disabled must be true or false\.\n--tag: The tags must be at most 50 characters long\.$/,
    ],
    [
      'create https://acme.com --alias SALE',
      1,
      '--alias: The alias SALE has already been taken on this domain. Choose another alias.',
    ],
    [
      'create https://go.acme.com/me --alias me',
      1,
      "URL: The url leads to the link's own short URL, http://go.acme.com:3080/me.",
    ],
    [
      'update sale --url http://go.acme.com:3080/sale',
      1,
      "--url: The url leads to the link's own short URL, http://go.acme.com:3080/Sale.",
    ],
    // No account can have this domain.
    ["create https://acme.com --domain ' foo'", 1, unknown('domain', 'foo')],
    ['create https://acme.com --domain a.example', 1, unknown('domain', 'a.example')],
    ['create https://acme.com --space autumn', 1, unknown('space', 'autumn')],
    ['list --tag 7', 1, unknown('tag', '7')],
    [
      'create https://acme.com --account 7',
      1,
      'Account 7 doesn\'t exist. To see all accounts, run "npx waymark accounts list".',
    ],
    ['update none --title x', 1, lost('none')],
    ['show none', 1, lost('none')],
    ['delete none --yes', 1, lost('none')],
    ['show sale --domain bücher.example', 1, lost('sale').replace('link', 'link on bücher.example')],
    ['show bücher.example/sale', 1, lost('bücher.example/sale')],
  ] as const) {
    await fails(`links ${line}`, code, message)
  }
  assert.equal((await json('links list')).length, 1)

  await createAccount(storage, 'Empty')
  await fails(
    'links create https://acme.com --account 2',
    1,
    '--domain: The account has no domain yet. Create one with "npx waymark domains create NAME".',
  )
  await fails('links list', 2, /^The database has several accounts\. Choose one with --account ID\. /)
})

test('creates and updates links with every API field, and filters lists by tags and archived', async (t) => {
  const { say, json } = await newPlace(t)
  const options = "--tag Sale --tag 'print, Sale' --notes 'For Ana' --redirect-status 301"
  const created = await json(`links create https://acme.com --alias a ${options}`)
  assert.deepEqual([created.tags, created.notes, created.redirect_status], [['print', 'Sale'], 'For Ana', 301])
  const changes = "--alias b --space Summer --notes '' --archived true --tag sale"
  assert.equal(await say(`links update A ${changes}`), 'http://go.acme.com:3080/b')
  const link = await json('links show b')
  assert.deepEqual([link.notes, link.archived, link.tags, link.space_id, link.title], [null, true, ['Sale'], 1, null])
  const cleared = await json("links update b --space '' --tag ''")
  assert.deepEqual([cleared.space_id, cleared.tags], [null, []])

  await say('links create https://acme.com --alias c --tag Sale --tag Print')
  await say('links create https://acme.com --alias d --tag Sale')
  const listed = async (options: string) =>
    (await json(`links list --sort asc ${options}`)).map(({ alias }: { alias: string }) => alias)
  assert.deepEqual(await listed('--tag sale --tag PRINT'), ['c'])
  assert.deepEqual(await listed('--archived any --sort-by alias'), ['b', 'c', 'd'])
})

test('finds a link by its pasted short URL, and a space by ID or unique name', async (t) => {
  const { say, json } = await newPlace(t)
  await say('links create https://acme.com --alias Sale/Summer')
  for (const text of [
    'go.acme.com/sale/summer',
    'http://GO.acme.com:3080/Sale/Summer/',
    'https://go.acme.com/sale/summer+',
  ]) {
    assert.equal((await json(`links show ${text}`)).alias, 'Sale/Summer')
    assert.equal((await json(`links list --search ${text}`)).length, 1)
  }
  for (const name of ['3', '2026']) await say(`spaces create ${name} --color 1`)
  for (const [space, id] of Object.entries({ 2: 2, 3: 3, 2026: 5, ' SUMMER ': 1 })) {
    assert.equal((await json(`links create https://acme.com --space '${space}'`)).space_id, id)
  }
})

test('list shows the newest links first and applies filters', async (t) => {
  const { run, say, json } = await newPlace(t)
  await say(`links create https://acme.com/first?x=1 --alias one --title ${'y'.repeat(50)} --space 1`)
  await say('links create https://acme.com/2 --alias two --domain xn--bcher-kva.example')
  await say('links create https://acme.com/3 --alias three')
  assert.equal(
    (await say('links list')).replaceAll(/ {2,}/g, '|'),
    [
      'ID|SHORT URL|STATUS|CLICKS|TITLE|URL',
      '3|http://go.acme.com:3080/three|active|0|https://acme.com/3',
      '2|http://xn--bcher-kva.example:3080/two|active|0|https://acme.com/2',
      `1|http://go.acme.com:3080/one|active|0|${'y'.repeat(39)}…|https://acme.com/first?x=1`,
    ].join('\n'),
  )
  for (const [options, aliases] of Object.entries({
    '': ['three', 'two', 'one'],
    '--domain GO.acme.com': ['three', 'one'],
    '--space summer': ['one'],
    '--space 0': ['three', 'two'],
    '--search ONE': ['one'],
    '--search first?': ['one'],
    '--status expired': [],
    '--status active --space 0 --search acme.com/3': ['three'],
  })) {
    const links: { alias: string }[] = await json(`links list ${options}`)
    assert.deepEqual(
      links.map(({ alias }) => alias),
      aliases,
      options,
    )
  }
  const { code, stdout, stderr } = await run('links list --limit 2')
  assert.deepEqual([code, stdout.split('\n').length], [0, 4])
  assert.equal(stderr, 'Showing 2 of 3 links. Raise --limit, or add a filter.\n')
})

test('show prints every field, and requires --domain if several domains have the alias', async (t) => {
  const { say, json, fails } = await newPlace(t)
  await say('links create https://acme.com/a --alias Sale')
  const lines = (await say('links show sALE')).split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual(lines.slice(0, 6), [
    ['id', '1'],
    ['domain_id', '1'],
    ['space_id', '-'],
    ['alias', 'Sale'],
    ['short_url', 'http://go.acme.com:3080/Sale'],
    ['url', 'https://acme.com/a'],
  ])
  assert.equal(lines.length, Object.keys(await json('links show Sale')).length)

  await say('links create https://acme.com/b --alias sale --domain bücher.example')
  const several = 'Several domains have a link with the alias sale. Choose one with --domain:'
  await fails('links show sale', 2, `${several} go.acme.com, xn--bcher-kva.example.`)
  assert.equal((await json('links show sale --domain bücher.example')).id, 2)
  for (let n = 0; n < 10; n++) {
    await say(`domains create d${n}.example`)
    await say(`links create https://acme.com --alias sale --domain d${n}.example`)
  }
  await fails('links delete sale --yes', 2, /--domain: go\.acme\.com, .*, d7\.example and others\.$/)
})

test('accepts an alias with a hyphen after --, and an alias equal to the database path', async (t) => {
  const { say, fails, storage } = await newPlace(t)
  await say('links create https://acme.com --alias=-x')
  assert.equal(JSON.parse(await say('links show --json -- -x')).alias, '-x')
  assert.ok(storage.location.engine === 'sqlite')
  await fails(`links show ${storage.location.path}`, 1, /^No link has the alias /)
})

test('delete asks for confirmation at a terminal, and requires --yes elsewhere', async (t) => {
  const { run, say, fails, storage } = await newPlace(t)
  for (const alias of ['sale', 'other', 'last']) await say(`links create https://acme.com --alias ${alias}`)
  const question = 'Delete http://go.acme.com:3080/sale, which redirects to https://acme.com and has 0 clicks? [y/N] '
  for (const [lines, after] of [
    [['n\n'], ''],
    [['\n'], ''],
    [['yesterday\n'], ''],
    [[], '\n'],
  ] as const) {
    const said = await run('links delete sale', typed(lines))
    assert.deepEqual(said, { code: 1, stdout: 'Nothing deleted.\n', stderr: question + after })
  }
  const unasked = /https:\/\/acme\.com and has 0 clicks\?\nCan't ask without a terminal\. Add --yes to confirm\.$/
  await fails('links delete sale', 2, unasked, { input: Readable.from(['y\n']) })
  await say('links show sale')
  const stdout = 'The link http://go.acme.com:3080/sale was deleted.\n'
  assert.deepEqual(await run('links delete SALE', typed(['Yes\n'])), { code: 0, stdout, stderr: question })
  assert.equal(await say('links delete other --yes'), 'The link http://go.acme.com:3080/other was deleted.')

  // The link is deleted during the confirmation.
  const input = async function* () {
    await storage.execute(deleteLink({ id: 3 }))
    yield 'y\n'
  }
  const late = await run('links delete last', typed(input()))
  assert.equal(late.code, 1)
  assert.match(late.stderr, /\[y\/N\] There is no such link\.\n$/)
  assert.equal(await say('links list --json'), '[]')
})
