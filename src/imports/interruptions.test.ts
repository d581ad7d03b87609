/** Imports whose process dies, stands still or loses rows: nothing is lost in silence, and each can be continued. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { actionsOn } from '../../test/actions.ts'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { applyImport, linksOf, planFile, rowsOf, table, tea } from '../../test/imports.ts'
import { newPlace, type Place } from '../../test/links-api.ts'
import { eventually } from '../../test/processes.ts'
import { runs } from '../../test/runs.ts'
import { commandActor } from '../access/actor.ts'
import { IdempotentRequests } from '../idempotency/store.ts'
import { findJob } from '../jobs/store.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { ImportActions } from './actions.ts'
import { decideRows } from './decide.ts'
import { runImportJob } from './jobs.ts'
import { explainError } from './report.ts'
import { importOptions } from './schema.ts'
import { readRows, type StagedRow, saveRows } from './staging/store.ts'
import { expireImports } from './store.ts'

const app = await startApp()
const { storage } = app
const rules = { shortUrl: (domain: string, alias: string) => `http://${domain}/${alias}`, urlSchemes: [] }

/** Returns the actions of a process that works on this connection, and its jobs. */
function processOn(db: Db, { patienceMs = null, now = Date.now }: ProcessOptions = {}) {
  const { reversals, jobs } = actionsOn(storage, { now })
  const actions = new ImportActions(storage, {
    ...{ rules, run: (job) => runImportJob(db, job, { rules, onApplied: () => undefined }), reversals },
    ...{ prove: () => Promise.resolve(), patienceMs, jobs },
  })
  return { actions, jobs }
}

interface ProcessOptions {
  readonly patienceMs?: number | null
  readonly now?: () => number
}

const importsOn = (db: Db, patienceMs: number | null = null) => processOn(db, { patienceMs }).actions

const options = importOptions.check({}) as Exclude<ReturnType<typeof importOptions.check>, Error>
const request = { type: 'csv', options } as const
/** Runs retention as if some time had passed. */
async function expireIn(ms: number): Promise<void> {
  const now = () => Date.now() + ms
  await expireImports(storage, now())
  await processOn(storage, { now }).jobs.finish()
}

/** A file that arrives up to a point, and then waits. */
function pausedFile(place: Place, rows: number) {
  const lines = Array.from({ length: 2 * rows }, (_, n) => `https://${place.domain.name}/a${n},${tea}/${n}\n`)
  const [paused, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  async function* bytes() {
    yield Buffer.from(`short_url,url\n${lines.slice(0, rows).join('')}`)
    paused.resolve()
    await rest.promise
    yield Buffer.from(lines.slice(rows).join(''))
  }
  return { bytes: bytes(), paused: paused.promise, resume: () => rest.resolve() }
}

test('plans a file that pauses, which its client can poll, and keeps its rows from retention', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const file = pausedFile(place, 4_000)
  const planning = importsOn(storage, 0).plan(actor, file.bytes, request)
  await file.paused
  const { shown, isDone, done } = await planning
  assert.deepEqual([isDone, shown.record.state, shown.record.error], [false, 'planning', null])
  await expireIn(0)
  const { id } = shown.record
  const early = await place.send('POST', `/imports/${id}/apply`)
  assert.deepEqual([early.status, early.body.code], [409, 'import_state'])
  assert.deepEqual(await rowsOf(place, id), [])
  file.resume()
  assert.deepEqual([(await done).record.state, (await done).record.outcomes.store], ['planned', 8_000])
})

test('stores the response of a plan with the import, so that a repetition after a kill returns it', async () => {
  const place = await newPlace(app)
  const { account } = place
  const file = pausedFile(place, 4_000)
  const claim = { account_id: account, key_id: 1, idempotency_key: randomUUID(), fingerprint: '2:paused' }
  const once = { claim, listUrl: 'http://api/imports' }
  const sent = { ...request, once }
  const planning = importsOn(storage, 0).plan(commandActor(account, 'operator'), file.bytes, sent)
  await file.paused
  const { shown, done } = await planning
  const requests = new IdempotentRequests(storage)
  const replayed = await requests.find(claim)
  assert.deepEqual([replayed?.status, replayed?.location], [202, `http://api/imports/${shown.record.id}`])
  assert.deepEqual(JSON.parse(replayed?.body ?? '').data.state, 'planning')
  const again = importsOn(storage).plan(commandActor(account, 'operator'), pausedFile(place, 4_000).bytes, sent)
  await assert.rejects(again, { code: 'idempotency_in_progress' })
  file.resume()
  await done
  await requests.close()
})

test('fails a plan whose process stands still, which then can not publish it', async () => {
  const place = await newPlace(app)
  const file = pausedFile(place, 4_000)
  const planning = importsOn(storage, 0).plan(commandActor(place.account, 'operator'), file.bytes, request)
  await file.paused
  const { shown, done } = await planning
  const { id } = shown.record
  const has = async () =>
    (await storage.execute(query.selectFrom('import_rows').select('id').where('import_id', '=', id))).length
  assert.ok((await has()) > 0)
  await expireIn(60_000)
  const { state, error } = (await place.send('GET', `/imports/${id}`)).body.data
  assert.deepEqual([state, error.code, await has()], ['failed', 'import_interrupted', 0])
  assert.match(error.message, /Send the file again, with a new Idempotency-Key\.$/)
  assert.match(explainError(error, 'page'), /Choose the file again\.$/)
  assert.match(explainError(error, 'command'), /Plan the file again\.$/)
  file.resume()
  await assert.rejects(done, { code: 'import_interrupted' })
  assert.equal((await place.send('GET', `/imports/${id}`)).body.data.state, 'failed')
})

test('keeps the reason for which a file can not be planned after its client has left', async () => {
  const place = await newPlace(app)
  const file = pausedFile(place, 4_000)
  async function* bytes() {
    yield* file.bytes
    yield Buffer.from('"never closed')
  }
  const actor = commandActor(place.account, 'operator')
  const planning = importsOn(storage, 0).plan(actor, bytes(), request)
  await file.paused
  const { shown, done } = await planning
  file.resume()
  await assert.rejects(done, { code: 'malformed_body' })
  const { state, error, undo_until } = (await place.send('GET', `/imports/${shown.record.id}`)).body.data
  assert.deepEqual([state, error.code, undo_until], ['failed', 'malformed_body', null])
  assert.match(error.message, /a quote in this row is never closed/)
  const unread = importsOn(storage).plan(actor, Buffer.from('short_url,url\n"a,b'), request)
  await assert.rejects(unread, { code: 'malformed_body' })
  assert.equal((await place.send('GET', '/imports')).body.meta.total, 1)
})

test('apply returns 409 and reports what it stored if planned rows are gone', async () => {
  const place = await newPlace(app)
  const lines = Array.from({ length: 250 }, (_, n) => [`https://${place.domain.name}/a${n}`, tea] as const)
  const { id } = await planFile(place, table(...lines))
  const lost = query.deleteFrom('import_rows').where('import_id', '=', id).where('id', '>', 220)
  await storage.execute(lost)
  for (let n = 0; n < 2; n++) {
    // A busy machine answers 202 until the job has ended.
    await eventually(async () => {
      const { status, body } = await place.send('POST', `/imports/${id}/apply`)
      if (status === 202 || body.code === 'import_running') return false
      assert.deepEqual([status, body.code], [409, 'import_interrupted'])
      assert.match(body.detail, /has stored 220 rows, but 30 planned ones are gone/)
      return true
    })
  }
  const { state, applied_at } = (await place.send('GET', `/imports/${id}`)).body.data
  assert.deepEqual([state, applied_at], ['applying', null])
  assert.equal((await place.send('GET', '/links')).body.meta.total, 220)
  assert.ok((await place.send('POST', `/imports/${id}/undo`)).status < 300)
})

test('applies an import that an earlier version has planned or applied in part', async () => {
  for (const appliedRow of [0, 120]) {
    const place = await newPlace(app)
    const lines = Array.from({ length: 150 }, (_, n) => [`https://${place.domain.name}/a${n}`, tea] as const)
    const planned = await planFile(place, table(...lines))
    const found = await importsOn(storage).findStored(place.account, planned.id)
    const summary = { ...found?.summary, provable: undefined, stored: undefined }
    const state = appliedRow === 0 ? 'planned' : 'applying'
    const old = { summary: JSON.stringify(summary), applied_row: appliedRow, state }
    await storage.execute(query.updateTable('imports').set(old).where('id', '=', planned.id))
    assert.equal((await place.send('GET', `/imports/${planned.id}`)).body.data.proof.pending, 150)
    assert.equal((await applyImport(place, planned)).state, 'applied')
    assert.equal((await place.send('GET', '/links')).body.meta.total, 150 - appliedRow)
  }
})

/** Rows of a file with few different addresses and URLs, so that they clash in every way. */
const row = fc.record({
  aliases: fc.subarray(['a', 'A', 'b', 'c'], { minLength: 1, maxLength: 3 }),
  url: fc.constantFrom('1', '2', 'javascript:1'),
})
const file = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 12 }),
  stored: fc.uniqueArray(fc.record({ alias: fc.constantFrom('a', 'B', 'd'), url: fc.constantFrom('1', '2') }), {
    selector: ({ alias }) => alias,
  }),
  conflict: fc.constantFrom('refuse', 'skip', 'rename', 'update'),
  size: fc.integer({ min: 1, max: 5 }),
})

const shownDecision = ({ decision, addresses }: StagedRow) => [
  ...[decision?.outcome, decision?.code, decision?.linkId],
  addresses.map(({ alias, exact }) => [alias, exact]),
]

test('decides the same wherever a batch of rows begins, and whatever is planned can be applied', async () => {
  await fc.assert(
    fc.asyncProperty(file, async ({ rows, stored, conflict, size }) => {
      const place = await newPlace(app)
      const { account, domain } = place
      for (const { alias, url } of stored) await place.link({ domain_id: domain.id, alias, url: `${tea}/${url}` })
      const links = rows.map(({ aliases, url }) => ({
        long_url: url.length > 1 ? url : `${tea}/${url}`,
        custom_bitlinks: aliases.map((alias) => `${domain.name}/${alias}`),
      }))
      const planned = await planFile(place, JSON.stringify({ links }), { conflict }, 'application/json')
      const { id } = planned
      const all = () => storage.write((tx) => readRows(tx, id, { after: 0, limit: 100 }))
      const before = (await all()).map(shownDecision)
      const found = await importsOn(storage).findStored(account, id)
      assert.ok(found !== undefined)
      const plan = { account, importId: id, options: found.options, isCaseSensitive: true, rules, domains: new Map() }
      for (let after = 0; after < rows.length; after += size) {
        await storage.write(async (tx) => {
          const some = await readRows(tx, id, { after, limit: size })
          await saveRows(tx, id, await decideRows(tx, plan, some))
        })
      }
      assert.deepEqual((await all()).map(shownDecision), before)
      if (planned.outcomes.conflict > 0) return
      assert.deepEqual((await applyImport(place, planned)).outcomes, planned.outcomes)
      const byId = new Map((await linksOf(place)).map((link) => [link.id, link]))
      for (const { outcome, link_id, addresses, url } of await rowsOf(place, id)) {
        if (outcome !== 'store' && outcome !== 'rename') continue
        const [main] = addresses.filter(({ short_url }: Json) => short_url !== null)
        const { short_url, exact, url: to } = byId.get(link_id) ?? {}
        assert.deepEqual([short_url, exact, to], [main.short_url, main.exact, url])
      }
    }),
    { numRuns: runs(1_000, 60) },
  )
})

test('continues after a kill at any transaction, even if what is stored has changed the outcome of a later row', async () => {
  for (let kill = 1; kill < 6; kill++) {
    const place = await newPlace(app)
    const { account, domain } = place
    await place.link({ domain_id: domain.id, alias: 'same', url: tea, title: 'Old' })
    const lines = Array.from({ length: 350 }, (_, n) => {
      const isUpdate = n === 10 || n === 210 || n === 340
      return isUpdate ? `https://${domain.name}/same,${tea},New` : `https://${domain.name}/a${n},${tea}/${n},`
    })
    const planned = await planFile(place, ['short_url,url,title', ...lines].join('\n'), { conflict: 'update' })
    let left = kill
    const dying: Db = {
      execute: (query) => storage.execute(query),
      write: (work) => (left-- > 0 ? storage.write(work) : Promise.reject(new Error('killed'))),
    }
    const actor = commandActor(account, 'operator')
    await assert.rejects(importsOn(dying).apply(actor, planned.id), /killed/)
    const { shown } = await importsOn(storage).apply(actor, planned.id)
    assert.deepEqual([shown.record.state, shown.record.outcomes], ['applied', planned.outcomes], String(kill))
    assert.equal((await place.send('GET', '/links')).body.meta.total, 348)
  }
})

test('undo replaces an application that fails again and again, but not one on another import', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const file = (name: string) =>
    table(...Array.from({ length: 250 }, (_, n) => [`https://${place.domain.name}/${name}${n}`, tea] as const))
  const [applied, stuck] = [await planFile(place, file('a')), await planFile(place, file('b'))]
  await applyImport(place, applied)
  let left = 1
  const failing: Db = {
    execute: (query) => storage.execute(query),
    write: (work) => (left-- > 0 ? storage.write(work) : Promise.reject(new Error('broken'))),
  }
  await assert.rejects(importsOn(failing).apply(actor, stuck.id), /broken/)
  assert.equal((await findJob(storage, { record: 'import', record_id: stuck.id }))?.state, 'failed')
  await assert.rejects(importsOn(storage).undo(actor, applied.id), { code: 'import_running' })
  const { shown } = await importsOn(storage).undo(actor, stuck.id)
  assert.equal(shown.record.state, 'undone')
  assert.equal((await place.send('GET', '/links')).body.meta.total, 250)
})
