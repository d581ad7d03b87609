/** Links in exports and imports. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { importText } from '../../test/import-text.ts'
import { insertLink, linkRules, newDomain, newSpace, plainLink } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { transferables } from '../cli/transfer.ts'
import { loggedDomains } from '../domains/reversal.ts'
import { parseRules } from '../rules/rule.ts'
import type { Storage } from '../storage/port.ts'
import { insertTag } from '../tags/store.ts'
import { exportRecords } from '../transfer/export.ts'
import { insertAddresses } from './addresses.ts'
import { changeLink } from './batch-changes.ts'
import { hashPassword } from './password.ts'
import type { LinkValues } from './schema.ts'
import { findLink, linksAfter } from './store.ts'

/** A database with the accounts 1 and 2. */
async function newPlace(t: TestContext, engine?: 'sqlite' | 'postgres'): Promise<Storage> {
  const storage = await newStorage((work) => t.after(work), engine)
  for (const name of ['Acme', 'Other']) await createAccount(storage, name)
  return storage
}

async function fill(storage: Storage, domains: readonly string[], spaces: readonly string[]): Promise<void> {
  for (const name of domains) await newDomain(storage, 1, name)
  for (const name of spaces) await newSpace(storage, 1, name)
}

/** No field has its default. */
const full: LinkValues = {
  space_id: 2,
  url: 'https://acme.com/ÄPFEL?q="ß"#%22',
  title: 'Über "alles"',
  disabled: true,
  active_period_start_at: '2026-01-02T03:04:05.678Z',
  active_period_end_at: '2999-01-02T03:04:05.678Z',
  clicks_limit: 1_000_000_000,
  expiration_url: 'https://acme.com/over',
  redirect_password: await hashPassword('Geheim'),
  forward_query: true,
  redirect_status: 307,
  rules: JSON.stringify([{ name: 'Germany', countries: ['DE'], url: 'https://acme.com/de' }]),
  tags: ['b', 'Ähre'],
  notes: 'Two\nlines',
  archived: true,
  exact: true,
}

const times = { created_at: '2025-01-02T03:04:05.678Z', updated_at: '2025-02-03T04:05:06.789Z' }
const programs = { bots: 3, previews: 6_000_000_000 }
const past = { clicks: 5_000_000_000, ...programs, last_clicked_ms: Date.parse('2026-03-04T05:06:07.890Z'), ...times }
/** The history in a file. */
const told = { clicks: 5_000_000_000, ...programs, last_clicked_at: '2026-03-04T05:06:07.890Z', ...times }

async function textOf(storage: Storage): Promise<string> {
  return (await Array.fromAsync(exportRecords(storage, 1, transferables))).join('')
}

/** Imports a file into account 1, and returns the counts and the reasons of rejected lines. */
async function bringIn(storage: Storage, text: string) {
  const { stored, known, reasons } = await importText(storage, text)
  return { stored, known, reasons }
}

const linesOf = (text: string) => text.split('\n').filter((line) => line.startsWith('{"link"'))
const linkOf = (line: string | undefined) => JSON.parse(line ?? '').link

for (const [from, to] of [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const) {
  test(`imports all fields of links from ${from} into ${to}, and a second import stores nothing`, async (t) => {
    const [here, there] = [await newPlace(t, from), await newPlace(t, to)]
    await fill(here, ['a.example', 'b.example'], ['First', 'Second'])
    await insertTag(here, systemActor(1), { name: 'B', color: 4 })
    await insertTag(here, systemActor(1), { name: 'Unused', color: 5 })
    const b = { id: 2, name: 'b.example' }
    await insertLink(here, systemActor(1), b, { ...full, alias: 'Ähre/🏳️‍🌈' }, past)
    await insertLink(here, systemActor(1), b, { ...plainLink, alias: 'plain' })
    await insertLink(
      here,
      systemActor(1),
      { id: 1, name: 'a.example' },
      { ...plainLink, alias: 'PLAIN', clicks_limit: 1 },
    )
    // The ids differ there.
    await fill(there, ['b.example', 'c.example'], ['Here', 'More'])
    const text = await textOf(here)
    const { redirect_password, ...values } = { ...full, rules: parseRules({ rules: full.rules }), tags: ['B', 'Ähre'] }
    assert.deepEqual(linkOf(linesOf(text)[0]), {
      ...{ id: 1, domain_id: 2, alias: 'Ähre/🏳️‍🌈', ...values },
      ...{ redirect_password_hash: redirect_password, legacy: false, ...told },
    })

    assert.deepEqual(await bringIn(there, text), { stored: 9, known: 1, reasons: [] })
    const tags = [...text.matchAll(/\{"tag":\{"id":\d,("name":"[^"]+","color":\d)/g)].map(([, tag]) => tag)
    assert.deepEqual(tags, ['"name":"B","color":4', '"name":"Unused","color":5', '"name":"Ähre","color":1'])
    const copy = await textOf(there)
    for (const tag of tags) assert.ok(copy.includes(String(tag)))
    const back = linesOf(await textOf(there)).map(linkOf)
    const expected = linesOf(text).map(linkOf)
    // By the ids at the source.
    const [domains, spaces] = [
      [0, 3, 1],
      [null, 3, 4],
    ]
    assert.deepEqual(
      back,
      expected.map((link) => ({ ...link, domain_id: domains[link.domain_id], space_id: spaces[link.space_id ?? 0] })),
    )
    assert.deepEqual(await bringIn(there, text), { stored: 0, known: 10, reasons: [] })
  })
}

test('stores clicks only with new links', async (t) => {
  const storage = await newPlace(t)
  await fill(storage, ['a.example'], [])
  await insertLink(storage, systemActor(1), { id: 1, name: 'a.example' }, { ...plainLink, alias: 'sale' }, past)
  const text = (await textOf(storage)).replace('"clicks":5000000000', '"clicks":1')
  assert.deepEqual(await bringIn(storage, text), { stored: 0, known: 2, reasons: [] })
  assert.equal((await findLink(storage, 1, 1))?.record.clicks, 5_000_000_000)
})

test('does not change an existing link with another value, and explains what to do', async (t) => {
  const storage = await newPlace(t)
  await fill(storage, ['a.example'], ['First', 'Second'])
  await insertLink(storage, systemActor(1), { id: 1, name: 'a.example' }, { ...full, exact: false, alias: 'sale' })
  const text = await textOf(storage)
  const change = async (values: Partial<LinkValues> & { alias?: string }) => {
    await storage.write((tx) => changeLink(tx, systemActor(1), 1, { values }, linkRules))
  }
  const others = { ...plainLink, redirect_password: await hashPassword('Geheim') }
  const sentence =
    'alias: sale is there already on a.example, with other values; its id is 1. Delete the link here, or change the alias in the file, then import again.'
  // Another spelling of an exact address is another link.
  const names = (Object.keys(full) as (keyof LinkValues)[]).filter((name) => name !== 'exact')
  for (const name of names) {
    await change({ [name]: others[name] })
    assert.deepEqual(await bringIn(storage, text), { stored: 0, known: 5, reasons: [`7: ${sentence}`] }, name)
    await change({ [name]: full[name] })
  }
  assert.deepEqual((await bringIn(storage, text)).known, 6)
  await change({ alias: 'SALE' })
  assert.deepEqual((await bringIn(storage, text)).reasons, [`7: ${sentence}`])
})

const header = '{"waymark_export":1,"source":"elsewhere"}\n'
const oneDomain = '{"domain":{"id":7,"name":"a.example"}}\n{"space":{"id":8,"name":"First","color":1}}\n'

test('rejects a link with an unknown domain or space', async (t) => {
  const storage = await newPlace(t)
  await newDomain(storage, 2, 'theirs.example')
  const theirs = '{"domain":{"id":9,"name":"theirs.example"}}\n'
  const link = (members: object) =>
    `${JSON.stringify({ link: { alias: 'x', url: 'https://acme.com', domain_id: 7, ...members } })}\n`
  const wayOut =
    'was not imported: its line is missing, comes later, or was rejected. Fix that line first, then import again.'
  const { stored, reasons } = await bringIn(
    storage,
    [header, link({}), oneDomain, theirs, link({ domain_id: 9 }), link({ space_id: 9 }), link({ space_id: 8 })].join(
      '',
    ),
  )
  assert.equal(stored, 3)
  assert.deepEqual(reasons, [
    `2: domain_id: The domain 7 of the file ${wayOut}`,
    '5: name: The name theirs.example has already been taken. Choose another name.',
    `6: domain_id: The domain 9 of the file ${wayOut}`,
    `7: space_id: The space 9 of the file ${wayOut}`,
  ])
  assert.deepEqual(
    (await linksAfter(storage, 1, 0, 10)).map(({ domain_id, space_id }) => [domain_id, space_id]),
    [[2, 1]],
  )
})

const salt = 'A'.repeat(22)
const hash = 'A'.repeat(43)
const phc = (parameters: string, rest = `${salt}$${hash}`) => `$argon2id$v=19$${parameters}$${rest}`
const usual = 'm=19456,t=2,p=1'
const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
const notOurs = /^redirect_password_hash: The value is not an argon2id hash made by Waymark\./

const invalid: readonly (readonly [members: object, reason: RegExp])[] = [
  [{ alias: undefined }, /^alias: The alias field is required\.$/],
  [{ domain_id: undefined, url: 'acme.com' }, /^url: .* domain_id: The domain_id field is required\.$/],
  [{ alias: '../x', title: 'x'.repeat(256), more: 1 }, /^alias: .* title: .* more: The more field is unknown\./],
  [{ url: 'http://A.example/X/' }, /^url: The url leads to the link's own short URL, https:\/\/a\.example\/x\.$/],
  [{ space_id: -1 }, /^space_id: /],
  [{ disabled: 'yes' }, /^disabled: The disabled must be true or false\.$/],
  [{ active_period_start_at: tomorrow, active_period_end_at: '2020-01-01 00:00' }, /^active_period_end_at: .* after /],
  [{ clicks: -1 }, /^clicks: The number is not an integer from 0 to 1000000000000\.$/],
  [{ clicks: 0.5 }, /^clicks: /],
  [{ clicks: null }, /^clicks: /],
  [{ bots: -1 }, /^bots: The number is not an integer from 0 to 1000000000000\.$/],
  [{ previews: '1' }, /^previews: /],
  [{ last_clicked_at: tomorrow }, /^last_clicked_at: The time is in the future\.$/],
  [{ last_clicked_at: '2026-01-01' }, /^last_clicked_at: Times must be in UTC, /],
  [{ last_clicked_at: 5 }, /^last_clicked_at: Times must be in UTC, /],
  [{ created_at: tomorrow }, /^created_at: The time is in the future\.$/],
  [{ redirect_password: 'Geheim' }, /^redirect_password: A file has no passwords\. /],
  [{ has_redirect_password: true }, /^redirect_password_hash: The link has a password, so the line needs its hash\.$/],
  [{ redirect_password_hash: '' }, notOurs],
  [{ redirect_password_hash: 'Geheim' }, notOurs],
  [{ redirect_password_hash: 5 }, notOurs],
  [{ redirect_password_hash: [phc(usual)] }, notOurs],
  [{ redirect_password_hash: phc('m=4194304,t=2,p=1') }, notOurs],
  [{ redirect_password_hash: phc('m=19456,t=4294967295,p=1') }, notOurs],
  [{ redirect_password_hash: phc('m=19456,t=2,p=255') }, notOurs],
  [{ redirect_password_hash: phc('m=8,t=1,p=1') }, notOurs],
  [{ redirect_password_hash: phc(usual).replace('argon2id', 'argon2d') }, notOurs],
  [{ redirect_password_hash: phc(usual).replace('v=19', 'v=16') }, notOurs],
  [{ redirect_password_hash: phc(usual, `${salt}$${hash}\n`) }, notOurs],
  [{ redirect_password_hash: phc(usual, `${salt}$${hash}${'A'.repeat(60_000)}`) }, notOurs],
  [{ redirect_password_hash: phc(usual, `AAAA$${hash}`) }, notOurs],
  [{ redirect_password_hash: phc(usual, `${salt}$`) }, notOurs],
  [{ redirect_password_hash: phc(usual, `${salt.slice(1)}B$${hash}`) }, notOurs],
  [{ redirect_password_hash: phc(usual, `${salt}$${hash.slice(1)}B`) }, notOurs],
]

test('rejects invalid links, with reasons, and doesn’t store them', async (t) => {
  const lines = invalid.map(([members]) =>
    JSON.stringify({ link: { id: 1, alias: 'x', url: 'https://acme.com', domain_id: 7, ...members } }),
  )
  const { stored, reasons } = await bringIn(await newPlace(t), `${header}${oneDomain}${lines.join('\n')}\n`)
  assert.deepEqual([stored, reasons.length], [2, invalid.length])
  for (const [at, [, reason]] of invalid.entries()) {
    const [, line, text = ''] = /^(\d+): (.*)$/.exec(reasons[at] ?? '') ?? []
    assert.equal(Number(line), at + 4)
    assert.match(text, reason)
  }
})

test('accepts the required fields, or all API fields', async (t) => {
  const storage = await newPlace(t)
  const least = { alias: 'x', url: 'https://acme.com', domain_id: 7 }
  const answered = {
    ...{
      id: 3,
      ...plainLink,
      redirect_password: undefined,
      alias: 'y',
      domain_id: 7,
      short_url: 'https://a.example/y',
    },
    ...{ status: 'active', has_redirect_password: true, redirect_password_hash: phc(usual), ...told },
  }
  const text = [least, answered].map((link) => `${JSON.stringify({ link })}\n`).join('')
  assert.deepEqual(await bringIn(storage, header + oneDomain + text), { stored: 4, known: 0, reasons: [] })
  const [x, y] = await linksAfter(storage, 1, 0, 10)
  assert.deepEqual([x?.clicks, x?.last_clicked_ms, x?.redirect_status], [0, null, 302])
  assert.deepEqual([y?.clicks, y?.created_at, y?.redirect_password], [past.clicks, past.created_at, phc(usual)])
})

test('exports no links of a domain that is being deleted', async (t) => {
  const storage = await newPlace(t)
  await fill(storage, ['a.example', 'b.example'], [])
  await storage.write(async (tx) => {
    for (let n = 0; n < 1_200; n++) {
      const name = n % 600 < 10 ? 'b.example' : 'a.example'
      await insertLink(tx, systemActor(1), { id: name === 'a.example' ? 1 : 2, name }, { ...plainLink, alias: `l${n}` })
    }
  })
  const how = { precondition: null, isPermanent: false }
  assert.ok(await loggedDomains.beginRemoval(storage, systemActor(1), 1, how))
  const text = await textOf(storage)
  assert.deepEqual(
    linesOf(text).map((line) => linkOf(line).alias),
    [0, 600].flatMap((from) => Array.from({ length: 10 }, (_, n) => `l${from + n}`)),
  )
  assert.match(text, /\{"end":\{"domains":1,"spaces":0,"tags":0,"links":20,"click_days":0\}\}\n$/)
})

test('does not change an existing tag with another color, and explains what to do', async (t) => {
  const [here, there] = [await newPlace(t), await newPlace(t)]
  await insertTag(here, systemActor(1), { name: 'Sale', color: 2 })
  await insertTag(there, systemActor(1), { name: 'SALE', color: 3 })
  const { stored, reasons } = await bringIn(there, await textOf(here))
  assert.deepEqual([stored, reasons], [0, ['2: color: There is already a tag SALE, with color 3.']])
})

test('imports further, exact and legacy addresses with their clicks, and a second import stores nothing', async (t) => {
  const [here, there] = [await newPlace(t), await newPlace(t)]
  await fill(here, ['a.example', 'b.example'], [])
  const domain = { id: 1, name: 'a.example' }
  const values = { ...plainLink, alias: '50% off!', legacy: true }
  const { record } = await insertLink(here, systemActor(1), domain, values, past)
  const addresses = [
    { domain_id: 1, alias: 'Print', exact: true, clicks: 7 },
    { domain_id: 2, alias: 'old?', exact: false, clicks: 0 },
  ]
  await insertAddresses(
    here,
    1,
    addresses.map((address) => ({ ...address, link_id: record.id })),
  )
  const text = await textOf(here)
  assert.deepEqual(linkOf(linesOf(text)[0]).addresses, [
    { ...addresses[0], legacy: false },
    { ...addresses[1], legacy: true },
  ])
  assert.deepEqual(await bringIn(there, text), { stored: 3, known: 0, reasons: [] })
  assert.deepEqual(linesOf(await textOf(there)), linesOf(text))
  assert.deepEqual(await bringIn(there, text), { stored: 0, known: 3, reasons: [] })
})

test('rejects lines with taken or invalid addresses', async (t) => {
  const storage = await newPlace(t)
  await fill(storage, ['a.example'], [])
  await insertLink(storage, systemActor(1), { id: 1, name: 'a.example' }, { ...plainLink, alias: 'taken' })
  const text = await textOf(storage)
  const line = { ...linkOf(linesOf(text)[0]), id: 9, alias: 'new' }
  const withAddresses = (addresses: unknown) =>
    text.replace(linesOf(text)[0] as string, JSON.stringify({ link: { ...line, addresses } }))
  const address = { domain_id: 1, alias: 'Taken', exact: false, clicks: 0 }
  for (const [addresses, reason] of [
    [[address], /^addresses: The alias Taken has already been taken/],
    [[{ ...address, alias: 'NEW' }], /^addresses: The alias NEW has already been taken/],
    [[{ ...address, alias: 'two words' }], /^addresses: /],
    [[{ ...address, alias: 'a', clicks: -1 }], /^clicks: /],
    [[{ ...address, alias: 'a', domain_id: 7 }], /^domain_id: /],
    [Array.from({ length: 21 }, () => address), /^addresses: The value is not a list of up to 20/],
    ['a', /^addresses: The value is not a list/],
  ] as const) {
    const { reasons } = await bringIn(storage, withAddresses(addresses))
    assert.equal(reasons.length, 1, JSON.stringify(addresses))
    assert.match(reasons[0]?.replace(/^3: /, '') as string, reason)
  }
})
