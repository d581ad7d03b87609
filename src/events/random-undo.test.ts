/** For any sequence of changes, undoing them in reverse order restores every record, except `updated_at` and versions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { newPlace, type Place } from '../../test/links-api.ts'
import { runs } from '../../test/runs.ts'

const app = await startApp()
const kinds = ['domains', 'spaces', 'tags', 'links'] as const
type Kind = (typeof kinds)[number]

/** Values of fields, which make no change in many cases. */
const values = {
  text: fc.constantFrom('a', 'b', 'A', 'É', 'c d'),
  url: fc.constantFrom('https://acme.com/1', 'https://acme.com/2?q=ä', 'https://example.com/'),
  index: fc.nat({ max: 4 }),
  tags: fc.subarray(['x', 'y', 'Z']),
  flag: fc.boolean(),
  time: fc.constantFrom('', '2020-01-01 10:00', '2031-01-01 10:00'),
}
const step = fc.record({
  verb: fc.constantFrom('store', 'store', 'update', 'update', 'delete', 'bulk', 'bulk delete'),
  kind: fc.constantFrom(...kinds, 'links' as const, 'links' as const),
  ...values,
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function all(place: Place, kind: Kind): Promise<Json[]> {
  const query = kind === 'links' ? '?archived=any&per_page=100&sort=asc' : '?per_page=100&sort=asc'
  return (await place.send('GET', `/${kind}${query}`)).body.data
}

/** Returns all records without what an undo need not restore. */
async function state(place: Place): Promise<Json> {
  const found = await Promise.all(kinds.map(async (kind) => [kind, await all(place, kind)] as const))
  return Object.fromEntries(found.map(([kind, rows]) => [kind, rows.map(({ updated_at: _, ...row }: Json) => row)]))
}

function fieldsOf({ kind, text, url, index, tags, flag, time }: Step, records: Json): Json {
  const pick = (rows: Json[]) => rows[index % Math.max(1, rows.length)]?.id
  if (kind === 'domains')
    return { homepage_url: url, not_found_url: flag ? '' : url, asset_links: flag ? '' : `[{"include":"${index}"}]` }
  if (kind !== 'links') return { name: text, color: 1 + index }
  const space = flag ? '' : (pick(records.spaces) ?? '')
  const end = { active_period_end_at: time, clicks_limit: flag ? '' : 1 + index, archived: flag }
  return { url, title: text, tags, space_id: space, notes: flag ? 'several\nlines' : '', ...end }
}

/** Sends a request, which may fail because of the records that there are. */
async function apply(place: Place, each: Step, number: number, records: Json): Promise<void> {
  const { verb, kind, index, text, flag } = each
  const fields = fieldsOf(each, records)
  const id = records[kind][index % Math.max(1, records[kind].length)]?.id ?? 0
  const ids = records.links.slice(0, 1 + index).map((link: Json) => link.id)
  const names = {
    domains: { name: `d${place.account}x${number}.example` },
    links: { alias: text },
    spaces: {},
    tags: {},
  }
  const password = flag ? { redirect_password: 'secret word' } : {}
  if (verb === 'store') {
    await place.send('POST', `/${kind}`, { json: { ...fields, ...names[kind], ...(kind === 'links' && password) } })
  } else if (verb === 'update') {
    const alias = kind === 'links' && flag ? { alias: `${text}${index}` } : {}
    await place.send('PATCH', `/${kind}/${id}`, { json: { ...fields, ...alias } })
  } else if (verb === 'delete') {
    await place.send('DELETE', `/${kind}/${id}${kind === 'domains' ? '?links=delete' : ''}`)
  } else if (ids.length > 0 && verb === 'bulk') {
    const { url, ...set } = fieldsOf({ ...each, kind: 'links' }, records)
    await place.send('PATCH', '/links/bulk', { json: { ids, set } })
  } else if (ids.length > 0) {
    await place.send('POST', '/links/bulk/delete', { json: { ids } })
  }
}

async function newestEvent(place: Place): Promise<Json> {
  return (await place.send('GET', '/events?per_page=10')).body.data[0]
}

test('undoing all batches in reverse order restores every record after each of them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14, size: 'max' }), async (steps) => {
      const place = await newPlace(app)
      let last = (await newestEvent(place)).batch_id
      const states: Json[] = [await state(place)]
      const changed: string[] = []
      for (const [number, each] of steps.entries()) {
        await apply(place, each, number, states.at(-1))
        const { batch_id } = await newestEvent(place)
        if (batch_id === last) continue
        last = batch_id
        changed.push(last)
        states.push(await state(place))
      }
      for (const [at, batch] of [...changed.entries()].reverse()) {
        const { status, body } = await place.send('POST', '/events/undo', { json: { batch_id: batch } })
        assert.equal(status, 200)
        assert.deepEqual(
          body.data.filter((row: Json) => row.code !== undefined),
          [],
        )
        assert.deepEqual(await state(place), states[at])
      }
    }),
    { numRuns: runs(40, 12) },
  )
})

test('undoing each event in reverse order restores every record, and so does undoing the undo', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8, size: 'max' }), async (steps) => {
      const place = await newPlace(app)
      const initial = await state(place)
      const last = (await newestEvent(place)).id
      for (const [number, each] of steps.entries()) await apply(place, each, number, await state(place))
      const final = await state(place)
      const events = async (after: number) =>
        (await place.send('GET', `/events?sort=asc&per_page=100&after=${after}`)).body.data as Json[]
      const made = await events(last)
      for (const { id, undone_by } of made.toReversed()) {
        if (undone_by !== null) continue
        const { status, text } = await place.send('POST', `/events/${id}/undo`)
        // The record that a link needs is restored by an earlier event of its batch, which brings the link back.
        assert.ok(status < 300 || status === 409, text)
      }
      for (const { id } of made.toReversed()) await place.send('POST', `/events/${id}/undo`)
      assert.deepEqual(await state(place), initial)
      const reversals = await events(made.at(-1)?.id ?? last)
      for (const { id } of reversals.toReversed()) await place.send('POST', `/events/${id}/undo`)
      for (const { id } of reversals.toReversed()) await place.send('POST', `/events/${id}/undo`)
      assert.deepEqual(await state(place), final)
    }),
    { numRuns: runs(20, 8) },
  )
})
