import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureOf, readText } from '../../test/import-files.ts'
import { linkFields, shownName } from '../links/fields.ts'
import { isSecret } from './csv-columns.ts'
import { CellReader } from './reading.ts'

const row = 'https://tea.example/,a'

for (const [header, url, alias] of [
  ['url,alias', 'url', 'alias'],
  ['Long URL,Back-Half', 'url', 'alias'],
  ['original_url,SHORT CODE', 'url', 'alias'],
  ['Target,keyword', 'url', 'alias'],
  ['destinationUrl,path', 'url', 'alias'],
  ['Destination,Link', 'url', 'short_url'],
  ['longUrl,shortLink', 'url', 'short_url'],
] as const) {
  test(`guesses the fields of ${header}`, async () => {
    const { source, columns } = await readText(`${header}\n${row}\n`)
    assert.equal(source, 'csv')
    assert.deepEqual(
      columns.map(({ field }) => field),
      [url, alias],
    )
  })
}

test('prefers names in the order of the list, and lists columns without a field', async () => {
  const names = [
    'target',
    'Foo',
    'url',
    'slug',
    'description',
    'notes',
    'expiresAt',
    'hits',
    'visits',
    'id',
    'dateCreated',
  ]
  const { columns } = await readText(`${names.join()}\nu,1,v,s,d,n,,3,4,5,\n`)
  assert.deepEqual(
    columns.map(({ name, field }) => `${name}: ${field}`),
    [
      ...['target: null', 'Foo: null', 'url: url', 'slug: alias', 'description: null', 'notes: notes'],
      ...['expiresAt: active_period_end_at', 'hits: null', 'visits: clicks', 'id: -', 'dateCreated: created_at'],
    ],
  )
})

test('reads all fields by their API names and dashboard labels', async () => {
  const { domain_id, space_id, redirect_password, ...fields } = linkFields
  for (const names of [Object.keys(fields), Object.values(fields).map(({ label }) => label)]) {
    const { columns, rows } = await readText(
      `${names.map((name) => `"${name}"`).join()}\n${names.map(() => '1').join()}\n`,
    )
    assert.deepEqual(
      columns.map(({ field }) => field),
      Object.keys(fields),
    )
    assert.equal(rows.length, 1)
  }
})

test('reads an export of Waymark: the short URL, empty cells, a missing password', async () => {
  const names = ['id', 'domain_id', 'alias', 'short_url', 'url', 'title', 'status', 'clicks_limit', 'disabled', 'tags']
  const header = [...names, shownName('redirect_password'), 'rules', 'clicks', 'created_at'].join()
  const { columns, rows } = await readText(
    `${header}\n1,2,Tea,https://sip.example/Tea,https://tea.example/,,active,,false,"hot,'=a",true,"[]",3,2025-03-09T07:15:00.000Z\n`,
  )
  assert.deepEqual(
    columns.filter(({ field }) => field === '-' || field === null).map(({ name }) => name),
    ['id', 'domain_id', 'status'],
  )
  assert.deepEqual(rows, [
    {
      line: 2,
      addresses: [{ host: 'sip.example', path: 'Tea' }],
      host: null,
      fields: {
        url: 'https://tea.example/',
        title: '',
        clicks_limit: '',
        disabled: 'false',
        tags: "hot,'=a",
        rules: '[]',
      },
      created_at: '2025-03-09T07:15:00.000Z',
      clicks: 3,
      bots: null,
      losses: ['password'],
      refusal: null,
    },
  ])
})

test('separates tags at vertical bars if there are any, otherwise at commas', async () => {
  const { rows } = await readText('alias,url,tags\na,u,"x|y z"\nb,u,"x,y"\n')
  assert.deepEqual(
    rows.map(({ fields }) => fields.tags),
    ['x,y z', 'x,y'],
  )
})

test('never stores addresses and programs of visitors', async () => {
  const { columns, cells } = await readText(
    'alias,url,IP,User Agent,remote_addr,Recipe\na,u,192.0.2.1,Mozilla,192.0.2.2,soup\n',
  )
  assert.deepEqual(cells, [['a', 'u', '', '', '', 'soup']])
  assert.deepEqual(
    columns.map(({ field }) => field),
    ['alias', 'url', '-', '-', '-', null],
  )
  assert.equal(
    await failureOf('alias,url,IP\na,u,192.0.2.1\n', { columns: { ip: 'notes' } }),
    'columns not_allowed: The column IP is never read, because it has data of visitors.',
  )
})

test('takes the fields that a user chooses, and reads stored cells again', async () => {
  const file = 'Ziel,Kürzel,url,Notiz\nhttps://tea.example/,a,https://x.example/,n\n'
  const columns = { Ziel: 'url', Kürzel: 'alias', notiz: 'notes' }
  const read = await readText(file, { columns })
  assert.deepEqual(
    read.columns.map(({ field }) => field),
    ['url', 'alias', null, 'notes'],
  )
  const again = new CellReader(read.columns, { timeZone: null, generateAliases: false })
  assert.deepEqual(again.read(read.cells[0] ?? [], 2), read.rows[0])
  assert.deepEqual(read.rows[0]?.fields, { url: 'https://tea.example/', notes: 'n' })
  const without = await readText(file, { columns: { ...columns, Notiz: '-' } })
  assert.deepEqual(without.rows[0]?.fields, { url: 'https://tea.example/' })
})

for (const [columns, failure] of [
  [{ Foo: 'url' }, 'The columns names Foo, but the columns of the file are: alias, url, more.'],
  [{ more: 'id' }, /^columns not_allowed: The column more cannot be id\. It can be url, /],
  [{ more: 'title', alias: 'title' }, 'Only one column can be title. Leave the others out with -.'],
] as const) {
  test(`refuses the columns ${JSON.stringify(columns)}`, async () => {
    const found = await failureOf('alias,url,more\na,u,m\n', { columns })
    if (typeof failure === 'string') assert.equal(found, `columns not_allowed: ${failure}`)
    else assert.match(found, failure)
  })
}

test('needs a column for the alias, unless new aliases are fine', async () => {
  const file = 'url,Domain,Foo\nhttps://tea.example/,sip.example,x\n'
  assert.equal(
    await failureOf(file),
    'source unknown_format: No column has the short link or its alias, so printed links would not work. The columns are: url, Domain, Foo. Name the one with the alias, such as columns=Name=alias, or send generate_aliases=true for new aliases.',
  )
  const { rows } = await readText(file, { generateAliases: true })
  assert.deepEqual([rows[0]?.addresses, rows[0]?.host, rows[0]?.refusal], [[], 'sip.example', null])
})

test('refuses a row without an alias, unless new aliases are fine', async () => {
  const file = 'url,alias\nhttps://tea.example/,\n'
  assert.equal((await readText(file)).rows[0]?.refusal?.code, 'required')
  assert.equal((await readText(file, { generateAliases: true })).rows[0]?.refusal, null)
})

test('needs a column for the destination', async () => {
  assert.equal(
    await failureOf('Foo,alias\nx,a\n'),
    'source unknown_format: No column has the destination. The columns are: Foo, alias. Name it, such as columns=Name=url.',
  )
})

test('stores no cells of columns that may have passwords, whatever their field', () => {
  const isHidden = (name: string, field: string | null = null) => isSecret({ name, field })
  for (const name of ['Password', 'link_password', 'Passwort', 'Kennwort']) assert.ok(isHidden(name), name)
  assert.ok(isHidden('Secret', 'redirect_password'))
  for (const name of ['has_redirect_password', 'Has a password', 'Title']) assert.ok(!isHidden(name), name)
})
