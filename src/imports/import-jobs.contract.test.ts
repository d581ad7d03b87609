/** Section 17 of the API: states, lists and errors of imports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import {
  applyImport,
  bitlyOf,
  linksOf,
  outcomesOf,
  planFile,
  rowsOf,
  sendFile,
  table,
  tea,
  undoImport,
} from '../../test/imports.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'

const app = await startApp()

test('applies once: a repetition returns 200 and changes nothing, and a second plan knows all rows', async () => {
  const place = await newPlace(app)
  const planned = await planFile(place, bitlyOf(place.domain.name))
  const applied = await applyImport(place, planned)
  assert.deepEqual(await applyImport(place, planned), applied)
  assert.equal((await linksOf(place)).length, 2)
  const again = await planFile(place, bitlyOf(place.domain.name))
  assert.deepEqual([again.outcomes.known, again.clicks, again.case_insensitive], [2, 0, 0])
  assert.deepEqual(
    again.shown.map(({ link_id }: Json) => link_id),
    (await linksOf(place)).map(({ id }) => id),
  )
})

test('refuses rows with NUL in a host or a time', async () => {
  const place = await newPlace(app)
  const mapped = { domain_map: `*=${place.domain.name}` }
  const hosts = await planFile(place, table(['https://a\0b.example/x', tea], ['https://\0/x', tea]), mapped)
  assert.deepEqual(outcomesOf(hosts), ['unmapped_host', 'unmapped_host'])
  const time = await planFile(place, `alias,url,created_at\nx,${tea},2\0`, mapped)
  assert.deepEqual(outcomesOf(time), ['invalid_time'])
})

test('apply returns 412 if an outcome would change, and stores nothing', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const planned = await planFile(place, table([`https://${host}/a`, tea], [`https://${host}/b`, tea]))
  const link = await place.link({ domain_id: place.domain.id, alias: 'B', url: `${tea}/b` })
  const answer = await place.send('POST', `/imports/${planned.id}/apply`)
  assert.deepEqual([answer.status, answer.body.code], [412, 'precondition_failed'])
  assert.match(answer.body.detail, /row 2 \(line 3\) was “store”, but is “conflict” now/)
  assert.deepEqual(
    (await linksOf(place)).map(({ id }) => id),
    [link.id],
  )
  await place.send('DELETE', `/links/${link.id}`)
  assert.equal((await applyImport(place, planned)).state, 'applied')
})

test('undo deletes links and new tags that no other link has, and returns 409 for edited links', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  const file = ['short_url,url,tags', `https://${host}/a,${tea},new|shared`, `https://${host}/b,${tea}`].join('\n')
  const planned = await planFile(place, file)
  const early = await place.send('POST', `/imports/${planned.id}/undo`)
  assert.deepEqual([early.status, early.body.code], [409, 'import_state'])
  await applyImport(place, planned)
  const [a] = await linksOf(place)
  await place.link({ alias: 'other', tags: ['shared'] })
  await place.send('PATCH', `/links/${a?.id}`, { json: { title: 'Edited' } })
  const edited = await place.send('POST', `/imports/${planned.id}/undo`)
  assert.deepEqual([edited.status, edited.body.code], [409, 'import_edited'])
  assert.match(edited.body.detail, new RegExp(`${host}/a`))
  assert.equal((await linksOf(place)).length, 3)
  await place.send('PATCH', `/links/${a?.id}`, { json: { title: null } })
  const { id } = await place.stored(`/links/${a?.id}/addresses`, { alias: 'more' })
  assert.equal((await place.send('POST', `/imports/${planned.id}/undo`)).body.code, 'import_edited')
  await place.send('DELETE', `/links/${a?.id}/addresses/${id}`)
  assert.equal((await undoImport(place, planned)).state, 'undone')
  assert.deepEqual(
    (await linksOf(place)).map(({ alias }) => alias),
    ['other'],
  )
  assert.deepEqual(
    (await place.send('GET', '/tags')).body.data.map(({ name }: Json) => name),
    ['shared'],
  )
  assert.equal((await app.visit(`http://${host}/a`)).status, 404)
  for (const job of ['apply', 'proof', 'undo']) {
    const answer = await place.send('POST', `/imports/${planned.id}/${job}`)
    assert.deepEqual([answer.status, answer.body.code], [409, 'import_state'], job)
  }
})

test('rejects whole files and options with the fields of the contract', async () => {
  const place = await newPlace(app)
  const file = table([`https://${place.domain.name}/a`, tea])
  assertRefused(await sendFile(place, file, { domain_map: 'a.example=b.example' }), ['domain_map', 'unknown_domain'])
  assertRefused(await sendFile(place, file, { domain_map: 'a.example' }), ['domain_map', 'not_allowed'])
  assertRefused(await sendFile(place, file, { space_id: '999999' }), ['space_id', 'unknown_space'])
  const bad = { source: 'tinyurl', conflict: 'win', time_zone: 'Mars' }
  assertRefused(
    await sendFile(place, file, bad),
    ['source', 'not_allowed'],
    ['conflict', 'not_allowed'],
    ['time_zone', 'not_allowed'],
  )
  const unknown = { source: 'tinyurl', domain_map: 'a.example=b.example', space_id: '999999', tag: 'a,b' }
  const all = [
    ['source', 'not_allowed'],
    ['tag', 'invalid_character'],
    ['domain_map', 'unknown_domain'],
    ['space_id', 'unknown_space'],
  ] as const
  const late = 'short_url,url,created_at\nhttps://a.example/x,https://tea.example,2026-01-02 03:04:05'
  assertRefused(await sendFile(place, late, unknown), ...all, ['time_zone', 'required'])
  const malformed = await sendFile(place, 'short_url,url\n"a,b', unknown)
  assert.deepEqual([malformed.status, malformed.body.code], [400, 'malformed_body'])
  assertRefused(
    await sendFile(place, 'name,size\na,1', { space_id: '999999' }),
    ['space_id', 'unknown_space'],
    ['source', 'unknown_format'],
  )
  assertRefused(await sendFile(place, 'name,size\na,1', {}), ['source', 'unknown_format'])
  assertRefused(await sendFile(place, 'short_url,url\n', {}), ['body', 'required'])
  assert.equal((await sendFile(place, file, {}, 'text/plain')).status, 415)
  const open = await sendFile(place, 'short_url,url\n"a,b', {})
  assert.deepEqual([open.status, open.body.code], [400, 'malformed_body'])
  assert.match(open.body.detail, /line 2, column \d/)
  const large = await sendFile(place, 'x'.repeat(16 * 1024 * 1024 + 1))
  assert.equal(large.status, 413)
  assert.match(large.body.detail, /waymark move plan/)
  assert.deepEqual((await place.send('GET', '/imports')).body.data, [])
})

test('lists imports and rows in pages, with filters, and maps no domain of another account', async () => {
  const [place, other] = [await newPlace(app), await newPlace(app)]
  const at = (n: number) => `https://${n < 12 ? place.domain.name : 'gone.example'}/r${n}`
  const first = await planFile(place, table(...Array.from({ length: 15 }, (_, n) => [at(n), `${tea}/${n}`] as const)))
  const second = await planFile(place, table([at(0), tea]))
  assert.deepEqual(
    (await place.send('GET', '/imports')).body.data.map(({ id }: Json) => id),
    [second.id, first.id],
  )
  const page = (await place.send('GET', `/imports/${first.id}/rows?page=2`)).body
  assert.deepEqual([page.data.map(({ id }: Json) => id), page.meta.total], [[11, 12, 13, 14, 15], 15])
  const after = (await place.send('GET', `/imports/${first.id}/rows?after=10`)).body
  assert.deepEqual(
    after.data.map(({ id }: Json) => id),
    [11, 12, 13, 14, 15],
  )
  assert.deepEqual(
    (await rowsOf(place, first.id, 'outcome=refuse')).map(({ id }) => id),
    [13, 14, 15],
  )
  assert.equal((await rowsOf(place, first.id, 'proof=same')).length, 0)
  await applyImport(place, first)
  assert.equal((await rowsOf(place, first.id, 'proof=pending&per_page=100')).length, 12)
  const theirs = await planFile(other, table([at(0), tea], [`https://${other.domain.name}/x`, tea]))
  assert.deepEqual(outcomesOf(theirs), ['unmapped_host', 'store'])
})

test('needs the scopes for links, and for tags if the plan creates some', async () => {
  const place = await newPlace(app)
  const file = `short_url,url,tags\nhttps://${place.domain.name}/a,${tea},new`
  const headers = { 'content-type': 'text/csv' }
  for (const [scopes, lacking] of [
    [['imports:write'], 'links:write'],
    [['imports:write', 'links:write'], 'tags:write'],
    [['imports:read', 'links:write', 'tags:write'], 'imports:write'],
  ] as const) {
    const key = await app.createKey({ account: place.account, scopes })
    const answer = await place.send('POST', '/imports', { key, body: file, headers })
    assert.deepEqual([answer.status, answer.body.code], [403, 'insufficient_scope'])
    assert.ok(answer.body.detail.includes(lacking))
  }
  assert.deepEqual((await place.send('GET', '/imports')).body.data, [])
})

test('a repetition with the same Idempotency-Key returns the stored response, and a failure frees the key', async () => {
  const place = await newPlace(app)
  const file = table([`https://${place.domain.name}/a`, tea])
  const send = (body: string, key: string, query = '') =>
    place.send('POST', `/imports${query}`, { body, headers: { 'content-type': 'text/csv', 'idempotency-key': key } })
  const first = await send(file, 'one')
  const again = await send(file, 'one')
  assert.deepEqual([again.status, again.headers['idempotency-replayed']], [first.status, 'true'])
  assert.deepEqual([again.text, again.headers.location], [first.text, first.headers.location])
  for (const other of [await send(`${file}\n`, 'one'), await send(file, 'one', '?tag=x')]) {
    assert.deepEqual([other.status, other.body.code], [422, 'idempotency_key_reused'])
  }
  assert.equal((await send(file, 'two', '?tag=a,b')).status, 422)
  assert.equal((await send('short_url,url\n"a,b', 'two')).status, 400)
  const late = `${file}\n"never closed`
  assert.equal((await send(late, 'two')).status, 400)
  assert.equal((await send(file, 'two')).status, 201)
  assert.equal((await send(file, 'bad key')).status, 400)
  assert.equal((await place.send('GET', '/imports')).body.meta.total, 2)
})
