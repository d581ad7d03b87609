/** Batches that move links and replace text in destinations, compared with changes of single links. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { newPlace, type Place } from '../../test/links-api.ts'
import { runs } from '../../test/runs.ts'
import { commandActor } from '../access/actor.ts'
import { foldCase } from '../lib/text.ts'
import type { ShortUrl } from '../names/short-url.ts'
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

test('replaces text in destinations as single changes do, and leaves other links alone', async () => {
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

test('moves links in order, except those whose alias is taken and those that would redirect to themselves', async () => {
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

test('rejects the whole batch for an unknown domain, and another account’s', async () => {
  const [place, stranger] = [await newPlace(app), await newPlace(app)]
  const { id } = await place.link()
  for (const domain_id of [stranger.domain.id, 999_999]) {
    await assert.rejects(change(place, [id], { values: { domain_id } }), { code: 'validation_failed' })
  }
})
