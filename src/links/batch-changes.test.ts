/** Batches that move links and replace text in destinations, compared with changes of single links. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { plainLink } from '../../test/links.ts'
import { newPlace, type Place } from '../../test/links-api.ts'
import { runs } from '../../test/runs.ts'
import { commandActor } from '../access/actor.ts'
import { foldCase } from '../lib/text.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { query } from '../storage/schema.ts'
import { type BatchChange, runBatch } from './batch.ts'

const urlSchemes = ['acme']
const app = await startApp({ urlSchemes })
const shortUrl: ShortUrl = (domain, alias) => `http://${domain}/${alias}`
type Update = Extract<BatchChange, { kind: 'update' }>

/** Changes links in one batch. Returns the result of each row, and the number of changed links. */
async function change({ account }: Place, ids: readonly number[], change: Partial<Update>) {
  const all: Update = { kind: 'update', ids, values: {}, ...change }
  const request = { actor: commandActor(account, 'Test'), change: all, isAtomic: false, claim: null, hasResults: true }
  const { body, applied, changed } = await runBatch(app.storage, request, { shortUrl, urlSchemes })
  const rows: Json[] = JSON.parse(new TextDecoder().decode(body)).data
  assert.equal(applied.length, rows.filter(({ status }) => status === 200).length)
  return { rows, changed }
}

const shown = async (at: Place, { id }: Json) => (await at.send('GET', `/links/${id}`)).body.data

test('replaces text in destinations as single changes do, and leaves other links unchanged', async () => {
  const [place, twin] = [await newPlace(app), await newPlace(app)]
  const piece = fc.constantFrom(
    'https://',
    'http://',
    'acme.com',
    'ä.example',
    '/a',
    '?x=a',
    '&',
    '#a',
    'mailto:',
    'sms:',
  )
  const found = fc.oneof(piece, fc.constantFrom('a', '%', ':', '/', 'com'))
  const path = fc.array(piece, { maxLength: 4 }).map((pieces) => `https://acme.com/${pieces.join('')}`)
  // Twice this text is too long for a destination; 12 times, for the most occurrences, still fits in the body of a request.
  const long = 'x'.repeat(5_000)
  const replaced = fc.oneof(found, fc.constantFrom('', '$&', ' ', long, 'javascript:', 'acme:'))
  const urls = fc.array(path, { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(urls, found, replaced, async (urls, find, replace) => {
      const links = []
      for (const url of urls) links.push([await place.link({ url }), await twin.link({ url })] as const)
      const replacement = { find, replace, part: 'all' } as const
      const { rows, changed } = await change(
        place,
        links.map(([{ id }]) => id),
        { replacement },
      )
      let expected = 0
      for (const [at, [link, single]] of links.entries()) {
        const url = single.url.replaceAll(find, () => replace)
        const { status, body } = await twin.send('PATCH', `/links/${single.id}`, { json: { url } })
        const now = await shown(twin, single)
        if (now.url !== single.url) expected += 1
        assert.equal(rows[at]?.status, status, url)
        if (status !== 200) assert.deepEqual(rows[at]?.violations, body.violations)
        const { url: stored, updated_at } = await shown(place, link)
        assert.equal(stored, now.url)
        assert.equal(updated_at === link.updated_at, stored === link.url)
      }
      assert.equal(changed, expected)
    }),
    { numRuns: runs(150, 25) },
  )
})

test('moves links in order, except those whose alias is taken and links that would redirect to themselves', async () => {
  const place = await newPlace(app)
  const aliases = fc.uniqueArray(fc.constantFrom('a', 'A', 'b', 'c', 'loop'), { selector: foldCase })
  await fc.assert(
    fc.asyncProperty(aliases, aliases, aliases, async (first, second, there) => {
      const names = ['first', 'second', 'target'].map((name) => `${name}.${crypto.randomUUID()}.example`)
      const domains: Json[] = []
      for (const name of names) domains.push(await place.stored('/domains', { name }))
      const [one, two, target] = domains as [Json, Json, Json]
      const newLinks = async ({ id: domain_id }: Json, some: string[]) => {
        const links: Json[] = []
        const url = (alias: string) => (alias === 'loop' ? `http://${target.name}/loop` : 'https://acme.com')
        for (const alias of some) links.push(await place.link({ domain_id, alias, url: url(alias) }))
        return links
      }
      const safe = there.filter((alias) => alias !== 'loop')
      const links = [
        ...(await newLinks(one, first)),
        ...(await newLinks(two, second)),
        ...(await newLinks(target, safe)),
      ]
      const taken = new Set(safe.map(foldCase))
      const expected = links.map(({ alias, domain_id }) => {
        if (domain_id === target.id) return 200
        if (taken.has(foldCase(alias))) return 409
        if (alias === 'loop') return 422
        taken.add(foldCase(alias))
        return 200
      })
      const { rows, changed } = await change(
        place,
        links.map(({ id }) => id),
        { values: { domain_id: target.id } },
      )
      assert.deepEqual(
        rows.map(({ status }) => status),
        expected,
      )
      const after = await Promise.all(links.map((link) => shown(place, link)))
      const moved = after.filter((link, at) => link.domain_id !== links[at]?.domain_id)
      assert.equal(changed, moved.length)
      for (const [at, link] of after.entries()) {
        assert.equal(link.domain_id, expected[at] === 200 ? target.id : links[at]?.domain_id)
      }
    }),
    { numRuns: runs(100, 15) },
  )
})

test('gives an alias to one of two links that move to a domain at the same time', async () => {
  const place = await newPlace(app)
  const target = await place.stored('/domains', { name: `target.${place.domain.name}` })
  const other = await place.stored('/domains', { name: `other.${place.domain.name}` })
  for (let n = 0; n < 10; n++) {
    const links = [await place.link({ alias: `x${n}` }), await place.link({ alias: `X${n}`, domain_id: other.id })]
    const move = ({ id }: Json) => change(place, [id], { values: { domain_id: target.id } })
    const results = await Promise.all(links.map(move))
    assert.deepEqual(results.map(({ rows }) => rows[0]?.status).sort(), [200, 409])
  }
})

test('gives no link of a batch an address that another link keeps because it can’t move', async () => {
  const place = await newPlace(app)
  const target = await place.stored('/domains', { name: `target.${place.domain.name}` })
  const other = await place.stored('/domains', { name: `other.${place.domain.name}` })
  await place.link({ alias: 'sale', exact: true, domain_id: target.id })
  const first = await place.link({ alias: 'SALE', domain_id: other.id })
  const staying = await place.link({ alias: 'sale' })
  await place.stored(`/links/${staying.id}/addresses`, { alias: 'Sale', domain_id: target.id })
  const before = await tablesOf(place)
  const { rows } = await change(place, [first.id, staying.id], { values: { domain_id: target.id } })
  assert.deepEqual(
    rows.map(({ status, code }) => [status, code]),
    [
      [409, 'alias_taken'],
      [409, 'alias_taken'],
    ],
  )
  assert.deepEqual(await tablesOf(place), before)
})

/** Returns what is stored of an account that a preview must not change. */
async function tablesOf({ account }: Place) {
  const own = <Name extends 'links' | 'addresses' | 'events'>(name: Name) =>
    query
      .selectFrom(name as 'links')
      .selectAll()
      .where('account_id', '=', account)
      .orderBy('id')
  const tags = query.selectFrom('link_tags').selectAll().orderBy('link_id').orderBy('tag_id')
  const links = query.selectFrom('links').select('id').where('account_id', '=', account)
  const all = [own('links'), own('addresses'), own('events'), tags.where('link_id', 'in', links)]
  return Promise.all(all.map((each) => app.storage.execute(each as ReturnType<typeof own>)))
}

const spelling = fc.constantFrom('a', 'A', 'b', 'B', 'c')
const address = fc.record({ domain: fc.nat(2), alias: spelling, exact: fc.boolean() })
const previewedLink = fc.record({
  main: address,
  further: fc.array(address, { maxLength: 3 }),
  isFull: fc.boolean(),
  loop: fc.option(address),
  isTagged: fc.boolean(),
})
const previewedChange = fc.record({
  domain: fc.option(fc.nat(2)),
  exact: fc.option(fc.boolean()),
  keeps: fc.boolean(),
  find: fc.option(fc.constantFrom('https://acme.com', 'acme.com', '/c', 'gone.example')),
  replaces: address,
  addsTag: fc.boolean(),
})

test('a preview fails for the links for which the change fails, names the links that change, and stores nothing', async () => {
  const links = fc.array(previewedLink, { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(links, previewedChange, async (wanted, { domain, exact, keeps, find, replaces, addsTag }) => {
      const place = await newPlace(app)
      const domains: Json[] = [place.domain]
      for (const name of ['one', 'two'])
        domains.push(await place.stored('/domains', { name: `${name}.${place.domain.name}` }))
      const urlOf = ({ domain, alias }: { domain: number; alias: string }) => `http://${domains[domain]?.name}/${alias}`
      const located = ({ domain, ...rest }: { domain: number; alias: string; exact: boolean }) => ({
        ...rest,
        domain_id: domains[domain]?.id ?? 0,
      })
      const rows = wanted.map(({ main, further, isFull, loop, isTagged }, at) => ({
        ...{ ...plainLink, ...located(main), url: loop === null ? 'https://acme.com/c' : urlOf(loop) },
        further: [
          ...further.map(located),
          ...Array.from({ length: isFull ? 20 - further.length : 0 }, (_, n) => ({
            ...located(main),
            alias: `full-${at}-${n}`,
          })),
        ],
        tags: isTagged ? ['x'] : [],
      }))
      const actor = commandActor(place.account, 'Test')
      const request = { actor, isAtomic: false, claim: null, hasResults: false }
      const run = (change: BatchChange, isPreview = false) =>
        runBatch(app.storage, { ...request, change, isPreview }, { shortUrl, urlSchemes })
      const { applied } = await run({ kind: 'store', rows })
      const ids = applied.map(({ id }) => id)
      const values = {
        ...(domain !== null && { domain_id: domains[domain]?.id }),
        ...(exact !== null && { exact }),
        ...((domain !== null || exact !== null) && { keep_address: keeps }),
      }
      const replacement = find === null ? undefined : ({ find, replace: urlOf(replaces), part: 'all' } as const)
      const update = {
        kind: 'update',
        ids,
        values,
        replacement,
        tags: addsTag ? { add: ['x'], remove: [] } : undefined,
      } as Update
      const before = await tablesOf(place)
      const { preview } = await run(update, true)
      assert.deepEqual(await tablesOf(place), before)
      const { rows: results, changed } = await change(place, ids, update)
      const [links, addresses] = await tablesOf(place)
      const isNew = (id: number) =>
        before[0]?.find((each) => each.id === id)?.revision !== links?.find((each) => each.id === id)?.revision
      assert.deepEqual(
        preview.map(({ id, failure, isChanged }) => [
          id,
          failure?.code ?? null,
          failure?.facts.violations?.map(({ code }) => code),
          isChanged,
        ]),
        results.map(({ id, code = null, violations }) => [
          id,
          code,
          code === null ? undefined : violations.map((each: Json) => each.code),
          isNew(id),
        ]),
      )
      assert.equal(changed, preview.filter(({ isChanged }) => isChanged).length)
      const failed = new Set(preview.flatMap(({ id, failure }) => (failure === null ? [] : [id])))
      const left = (rows: readonly object[] = []) => rows.filter((row) => failed.has((row as Json).link_id))
      assert.deepEqual(left(addresses), left(before[1]))
    }),
    { numRuns: runs(300, 25) },
  )
})
