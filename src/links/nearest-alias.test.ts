import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { fillLinks, newDomain, newLink } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import type { Storage } from '../storage/port.ts'
import { findNearestLink } from './nearest-alias.ts'

const storage = await newStorage(after)
let made = 0

async function accountWith(...aliases: readonly string[]) {
  made += 1
  const account = (await createAccount(storage, 'Acme')).id
  const domain = await newDomain(storage, account, `go${made}.example`)
  for (const alias of aliases) await newLink(storage, { account, domain }, alias)
  const near = async (search: string, options: { searchIn?: string[]; of?: Storage; status?: string } = {}) => {
    const { searchIn = ['alias', 'title', 'url'], of = storage, status } = options
    const filter = status === undefined ? {} : { status }
    return (await findNearestLink(of, account, { search: search.split(' '), searchIn, filter }))?.alias
  }
  return { account, domain, near }
}

const seasons = ['webinar', 'Summer', 'black-friday', 'jobs', 'q4/été', 'jobs-berlin']

for (const [search, alias] of [
  ['webnar', 'webinar'],
  ['webimar', 'webinar'],
  ['sumer', 'Summer'],
  ['SUMMMER', 'Summer'],
  ['black fridy', 'black-friday'],
  ['go.acme.com/webniar', 'webinar'],
  ['https://go.acme.com/sumer/', 'Summer'],
  ['jbs', 'jobs'],
  ['q4/ete', 'q4/été'],
] as const) {
  test(`finds ${alias} for ${search}`, async () => {
    const { near } = await accountWith(...seasons)
    assert.equal(await near(search), alias)
  })
}

test('finds nothing for text that is too different, too short or too long, or if aliases are not searched', async () => {
  const { near } = await accountWith(...seasons)
  for (const search of ['nothing like it', 'winter', 'webcam-in-the-attic', 'jo', '', 'x'.repeat(200)]) {
    assert.equal(await near(search), undefined, search)
  }
  assert.equal(await near('webnar', { searchIn: ['title'] }), undefined)
})

test('finds only links of the account, and links that match the filters', async () => {
  await accountWith('webinar')
  const { near } = await accountWith('jobs')
  assert.equal(await near('webnar'), undefined)
  assert.equal(await near('jobz', { status: 'active' }), 'jobs')
  assert.equal(await near('jobz', { status: 'expired' }), undefined)
})

test('finds an old alias among many by its pieces, with a bounded number of candidates', async () => {
  const { account, domain, near } = await accountWith('black-friday', 'webinar')
  await fillLinks(storage, { account, domain }, 1, 2_000)
  const limits: number[] = []
  const list: Storage['list'] = (listing) => {
    limits.push(listing.limit)
    return storage.list(listing)
  }
  const of = { list, execute: (asked) => storage.execute(asked) } as Storage
  storage.start(assert.ifError)
  await eventually(async () => (await near('black-frieday')) === 'black-friday')
  assert.equal(await near('black-frieday', { of }), 'black-friday')
  assert.equal(await near('webbinar', { of }), 'webinar')
  assert.ok(limits.slice(0, 4).reduce((sum, limit) => sum + limit, 0) <= 700, limits.join())
})

test('compares a bounded number of characters, and only aliases of a similar length', async () => {
  const { account, domain, near } = await accountWith()
  const [long, wrong] = ['a'.repeat(128), 'b'.repeat(128)]
  const target = { id: await newLink(storage, { account, domain }, long), alias_folded: long }
  const find = (others: readonly string[]) => {
    const rows = [...others.map((alias) => ({ id: 0, alias_folded: alias })), target]
    const list = async ({ search }: { search: readonly string[] }) => ({ rows: search.length > 0 ? [] : rows })
    return near(`${long.slice(1)}c`, { of: { list, execute: storage.execute.bind(storage) } as unknown as Storage })
  }
  assert.equal(await find(Array(100).fill(wrong)), long)
  assert.equal(await find(Array(399).fill(wrong)), undefined)
  assert.equal(await find(Array(399).fill('b'.repeat(80))), long)
})
