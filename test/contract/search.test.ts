/** Searching and sorting by name, which is case-insensitive for Unicode. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'

const app = await startApp()

async function listing(resource: 'domains' | 'spaces', names: readonly string[]) {
  const key = await app.createKey({ account: await app.createAccount() })
  const ids = new Map<number, number>()
  for (const [index, name] of names.entries()) {
    const { body, status } = await app.send('POST', `/api/v1/${resource}`, { form: { name }, key })
    assert.equal(status, 201, name)
    ids.set(body.data.id, index)
  }
  return async (query: Record<string, string>): Promise<string[]> => {
    const search = new URLSearchParams({ per_page: '100', ...query })
    const { body, status } = await app.send('GET', `/api/v1/${resource}?${search}`, { key })
    assert.equal(status, 200)
    assert.equal(body.meta.total, body.data.length)
    assert.equal(body.meta.total_is_exact, true)
    return body.data.map(
      ({ id, name }: Json) => `${name}${names.filter((each) => each === name).length > 1 ? ids.get(id) : ''}`,
    )
  }
}

const spaces = `Marketing, MARKET research, 100% sure, 100 percent, a_b, aXb, back\\slash, Straße, STRASSE, Ärger, ärgerlich,
  Όδυσσεύς, İstanbul, ﬁne, 日本語, x, 💩 pile, it's, "quoted", a*b, -- or 1=1`
const searchSpaces = await listing('spaces', spaces.split(/,\s+/))

const internationalised = ['köln.example', 'xn--bcher-kva.example', 'plain.example', 'koeln.example', 'straße.example']
const searchDomains = await listing('domains', internationalised)

const unsorted = ['b', 'a', 'B', 'A', 'a', 'Z', 'é', 'É', 'z', '日', '💩', '\uff21', '_', '0', 'ab', 'a b', 'ß', 'ss']
const sortSpaces = await listing('spaces', unsorted)

test('200 with the spaces that contain the text, case-insensitively', async () => {
  for (const [search, ...names] of [
    ['MARKET', 'Marketing', 'MARKET research'],
    ['  market  ', 'Marketing', 'MARKET research'],
    ['arketin', 'Marketing'],
    ['%', '100% sure'],
    ['_', 'a_b'],
    ['a_b', 'a_b'],
    ['k\\s', 'back\\slash'],
    ['strasse', 'Straße', 'STRASSE'],
    ['STRAßE', 'Straße', 'STRASSE'],
    ['ärger', 'Ärger', 'ärgerlich'],
    ['A\u0308RGER', 'Ärger', 'ärgerlich'],
    ['οδυσσεύσ'],
    ['ΌΔΥΣΣΕΎΣ', 'Όδυσσεύς'],
    ['όδυσσεύς', 'Όδυσσεύς'],
    ['本', '日本語'],
    ['X', 'x', 'aXb'],
    ['💩', '💩 pile'],
    ["'", "it's"],
    ['"quo', '"quoted"'],
    ['*', 'a*b'],
    ['-- or', '-- or 1=1'],
    ['fine', 'ﬁne'],
    ['nothing like it'],
  ] as const) {
    assert.deepEqual((await searchSpaces({ search })).sort(), [...names].sort(), search)
  }
})

test('200 with the domains that contain the text in either spelling', async () => {
  for (const [search, ...names] of [
    ['köln', 'xn--kln-sna.example'],
    ['KÖLN', 'xn--kln-sna.example'],
    ['ö', 'xn--kln-sna.example'],
    ['xn--kln', 'xn--kln-sna.example'],
    ['XN--KLN', 'xn--kln-sna.example'],
    ['bücher', 'xn--bcher-kva.example'],
    ['BCHER-K', 'xn--bcher-kva.example'],
    ['strasse', 'xn--strae-oqa.example'],
    ['xn--', 'xn--bcher-kva.example', 'xn--kln-sna.example', 'xn--strae-oqa.example'],
    ['lain.ex', 'plain.example'],
    ['%'],
    ['_'],
    ['example köln'],
    ['examplexn'],
  ] as const) {
    assert.deepEqual((await searchDomains({ search })).sort(), [...names], search)
  }
})

test('200 sorted by the case-folded name, by code point, ties by id in the same direction', async () => {
  const ascending = ['0', '_', 'a1', 'A', 'a4', 'a b', 'ab', 'b', 'B', 'ß', 'ss', 'Z', 'z', 'é', 'É', '日', 'Ａ', '💩']
  assert.deepEqual(await sortSpaces({ sort_by: 'name', sort: 'asc' }), ascending)
  assert.deepEqual(await sortSpaces({ sort_by: 'name', sort: 'desc' }), ascending.toReversed())
  assert.deepEqual(await sortSpaces({ sort_by: 'name', sort: 'asc', search: 'a' }), ['a1', 'A', 'a4', 'a b', 'ab'])
})
