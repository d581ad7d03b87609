import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { fillLinks } from '../../test/links.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'
import { databaseUnavailable } from '../errors.ts'

const app = await startApp()
const place = await newPlace(app)
const path = '/links/export'
const today = () => new Date().toISOString().slice(0, 10)
const exported = async (query = '', at = place): Promise<Json[]> => {
  const { status, text } = await at.send('GET', `${path}?format=jsonl&${query}`)
  assert.equal(status, 200, text)
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

describe('GET /links/export', () => {
  test('csv: has the record’s fields in order, CRLF, empty cells for null, and tags with commas', async () => {
    const at = await newPlace(app)
    const link = await at.link({ alias: 'a', title: 'say "hi", you', tags: ['b', 'A'], notes: 'two\nlines' })
    const { status, headers, text } = await at.send('GET', path)
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
    assert.equal(headers['content-disposition'], `attachment; filename="waymark-links-${today()}.csv"`)
    const [head, row] = [text.slice(0, text.indexOf('\r\n')), text.slice(text.indexOf('\r\n') + 2)]
    assert.equal(head, Object.keys(link).join(','))
    const cells = Object.entries({
      ...link,
      title: '"say ""hi"", you"',
      notes: '"two\nlines"',
      tags: '"A,b"',
    }).map(([, value]) => String(value ?? ''))
    assert.equal(row, `${cells.join(',')}\r\n`)
  })

  test('jsonl: has the records of the list by ascending id, one per line', async () => {
    const at = await newPlace(app)
    for (const alias of ['x', 'y', 'z']) await at.link({ alias, tags: ['T'] })
    const { headers } = await at.send('GET', `${path}?format=jsonl`)
    assert.equal(headers['content-type'], 'application/x-ndjson')
    assert.equal(headers['content-disposition'], `attachment; filename="waymark-links-${today()}.jsonl"`)
    assert.deepEqual(await exported('', at), (await at.send('GET', '/links?sort=asc')).body.data)
  })

  test('a formula gets an apostrophe, even after apostrophes', async () => {
    const at = await newPlace(app)
    for (const title of ['=1+1', "'@x", 'a=1']) await at.link({ title })
    const { text } = await at.send('GET', path)
    for (const cell of [",'=1+1,", ",''@x,", ',a=1,']) assert.ok(text.includes(cell), text)
  })

  test('has the search, the filters and the defaults of the list', async () => {
    const at = await newPlace(app)
    const space = await at.stored('/spaces', { name: 'S' })
    const [plain, archived, inSpace] = [
      await at.link({ alias: 'plain', title: 'Summer sale' }),
      await at.link({ alias: 'old', archived: true }),
      await at.link({ alias: 'in', space_id: space.id, tags: ['T'], disabled: true }),
    ]
    const [tag] = (await at.send('GET', '/tags')).body.data
    for (const [query, ...expected] of [
      ['', plain, inSpace],
      ['archived=true', archived],
      ['archived=any', plain, archived, inSpace],
      [`space_id=${space.id}`, inSpace],
      [`tag_id=${tag.id}`, inSpace],
      [`domain_id=${at.domain.id}&status=disabled`, inSpace],
      ['search=sale+summer', plain],
      ['search=summer&search_by=alias'],
      [`search=${encodeURIComponent(plain.short_url)}`, plain],
    ] as const) {
      assert.deepEqual(
        (await exported(query, at)).map(({ id }) => id),
        expected.map(({ id }) => id),
        query,
      )
    }
  })

  test('has every link of many batches, and no link of another account', async () => {
    const at = await newPlace(app)
    await fillLinks(app.storage, { account: at.account, domain: at.domain.id }, 1, 350)
    await place.link()
    const aliases = (await exported('', at)).map(({ alias }) => alias)
    assert.deepEqual(
      aliases,
      Array.from({ length: 350 }, (_, n) => `l${n + 1}`),
    )
  })

  test('422 for an unknown format, value or parameter of pages', async () => {
    for (const [query, field, code] of [
      ['format=xlsx', 'format', 'not_allowed'],
      ['status=lost', 'status', 'not_allowed'],
      ['archived=maybe', 'archived', 'not_allowed'],
      ['per_page=10', 'per_page', 'unknown_field'],
      ['sort_by=alias', 'sort_by', 'unknown_field'],
    ] as const) {
      assertRefused(await place.send('GET', `${path}?${query}`), [field, code])
    }
  })

  test('412 with If-Match', async () => {
    const { status, body } = await place.send('GET', path, { headers: { 'if-match': '"1"' } })
    assert.deepEqual([status, body.code], [412, 'precondition_failed'])
  })

  test('503 if the first batch fails; a later failure closes the connection before the end of the body', async () => {
    let calls = 0
    let failing = 1
    const broken = await startApp({
      storage: (real) =>
        withMethods(real, {
          list: async (listing) => {
            calls += 1
            if (calls === failing) throw databaseUnavailable(new Error('gone'))
            return real.list(listing)
          },
        }),
    })
    const at = await newPlace(broken)
    await fillLinks(broken.storage, { account: at.account, domain: at.domain.id }, 1, 250)
    assert.equal((await at.send('GET', path, { seesOverload: true })).status, 503)
    failing = calls + 2
    await assert.rejects(at.send('GET', path))
    assert.equal((await at.send('GET', path)).text.split('\r\n').length, 252)
  })
})
