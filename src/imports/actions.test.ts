import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { applyImport, linksOf, outcomesOf, planFile, rowsOf, table, tea, undoImport } from '../../test/imports.ts'
import { newPlace } from '../../test/links-api.ts'
import { eventually } from '../../test/processes.ts'
import { commandActor } from '../access/actor.ts'
import { addJob, cancelJob } from '../jobs/store.ts'
import type { Db } from '../storage/port.ts'
import { isRead, query } from '../storage/schema.ts'
import { compiledForSqlite } from '../storage/sqlite/group-commit.ts'
import { ImportActions } from './actions.ts'
import { type RunImportJob, runImportJob } from './jobs.ts'
import { importOptions } from './schema.ts'
import { expireImports } from './store.ts'

const app = await startApp()
const { storage } = app
const rules = { shortUrl: (domain: string, alias: string) => `http://${domain}/${alias}`, urlSchemes: [] }

/** The actions of a command, which plans on its own connection. */
const importsOn = (db: Db, now = Date.now) => {
  const { reversals, jobs } = actionsOn(storage, { now })
  const run: RunImportJob = (job) => runImportJob(db, job, { rules, onApplied: () => undefined })
  const parts = { rules, run, reversals, jobs, prove: () => Promise.resolve(), patienceMs: null }
  return { actions: new ImportActions(storage, parts), jobs }
}
const { actions } = importsOn(storage)
const optionsOf = (fields: Record<string, string>) => {
  const options = importOptions.check(fields)
  assert.ok(!(options instanceof Error))
  return options as Exclude<typeof options, Error> & never
}

test('plans again from the stored rows, with other columns, hosts and conflicts', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const file = `where,what,extra\nhttps://old.example/a,${tea},A\nhttps://old.example/b,${tea}/b,B\n`
  const chunks = async function* () {
    yield Buffer.from(file)
  }
  const options = optionsOf({ columns: 'where=short_url,what=url' })
  const { record } = (await actions.plan(actor, chunks(), { type: null, options })).shown
  assert.deepEqual([record.outcomes.refuse, record.unmapped_hosts], [2, ['old.example']])
  const domain_map = { 'old.example': place.domain.name }
  const mapped = await actions.replan(actor, record.id, { domain_map })
  assert.deepEqual([mapped.record.id, mapped.record.outcomes.store], [record.id, 2])
  const columns = { where: 'short_url', what: 'url', extra: 'title' }
  await actions.replan(actor, record.id, { columns })
  assert.deepEqual((await actions.findStored(place.account, record.id))?.options.domain_map, domain_map)
  await place.link({ domain_id: place.domain.id, alias: 'a', url: `${tea}/other` })
  const renamed = await actions.replan(actor, record.id, { conflict: 'rename' })
  assert.deepEqual([renamed.record.outcomes.rename, renamed.record.outcomes.store], [1, 1])
  const { isDone } = await actions.apply(actor, record.id)
  assert.ok(isDone)
  const links = await linksOf(place)
  assert.deepEqual(
    links.map(({ alias, title }) => [alias, title]),
    [
      ['a', null],
      ['a-2', 'A'],
      ['b', 'B'],
    ],
  )
  await assert.rejects(actions.replan(actor, record.id, {}), { code: 'import_state' })
})

test('a new plan that ends halfway shows only decided rows, can not be applied, and the next one reads all rows again', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const rows = Array.from({ length: 200 }, (_, at) => `https://${place.domain.name}/a${at},${tea},One,Two`)
  const file = Buffer.from(['short_url,url,title,other', ...rows].join('\n'))
  const { record } = (await actions.plan(actor, file, { type: null, options: optionsOf({}) })).shown
  let left = 1
  const broken: Db = {
    execute: (query) => storage.execute(query),
    write: (work) => (left-- > 0 ? storage.write(work) : Promise.reject(new Error('killed'))),
  }
  const halfway = importsOn(broken).actions
  const columns = { short_url: 'short_url', url: 'url', title: '-', other: 'title' }
  await assert.rejects(halfway.replan(actor, record.id, { columns }), /killed/)
  const shown = await place.send('GET', `/imports/${record.id}/rows`)
  assert.deepEqual([shown.status, shown.body.meta.total, shown.body.data[0].id], [200, 50, 151], shown.text)
  await assert.rejects(actions.apply(actor, record.id), { code: 'precondition_failed' })
  assert.deepEqual(await linksOf(place), [])
  await actions.replan(actor, record.id, {})
  await actions.apply(actor, record.id)
  const links = (await place.send('GET', '/links?per_page=100')).body
  assert.deepEqual([links.meta.total, [...new Set(links.data.map(({ title }: Json) => title))]], [200, ['Two']])
})

test('plans and applies in transactions of few rows, and compares addresses without the write lock', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const reads: string[] = []
  const stored: number[] = []
  const db: Db = {
    execute: (asked) => storage.execute(asked),
    write: (work) =>
      storage.write((tx) => {
        const execute: Db['execute'] = (asked) => {
          const { sql } = compiledForSqlite(asked)
          if (isRead(asked.toOperationNode())) reads.push(sql)
          const [, table = ''] = /^insert into "(\w+)"/.exec(sql) ?? []
          if (['import_rows', 'events'].includes(table)) stored.push(sql.split('), (').length)
          return tx.execute(asked)
        }
        return work({ ...tx, execute })
      }),
  }
  const lines = Array.from({ length: 400 }, (_, n) => `https://${place.domain.name}/a${n},${tea}/${n}\n`)
  const file = Buffer.from(`short_url,url\n${lines.join('')}`)
  const { actions } = importsOn(db)
  const { record } = (await actions.plan(actor, file, { type: null, options: optionsOf({}) })).shown
  for (const sql of reads) assert.doesNotMatch(sql, /"(import_rows|import_addresses|addresses|links|domains)"/)
  assert.equal(Math.max(...stored), 64)
  const planned = await actions.findStored(place.account, record.id)
  assert.ok(planned)
  const readOnly: Db = { execute: db.execute, write: () => assert.fail('a check writes nothing') }
  await runImportJob(readOnly, { kind: 'check', actor, planned }, { rules, onApplied: () => undefined })
  stored.length = 0
  await actions.apply(actor, record.id)
  assert.deepEqual([Math.max(...stored), (await place.send('GET', '/links')).body.meta.total], [64, 400])
})

test('the thread of imports leaves the CPU to the event loop', { skip: process.platform !== 'linux' }, async () => {
  const place = await newPlace(app)
  await planFile(place, table([`https://${place.domain.name}/a`, tea]))
  const stats = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/stat`, 'utf8'))
  const priorities = stats.map((stat) => Number(stat.slice(stat.lastIndexOf(')')).split(' ')[17]))
  assert.deepEqual(
    priorities.filter((priority) => priority > getPriority()),
    [5],
  )
})

test('one job runs in an account, and continues the job of a process that has died', async () => {
  const place = await newPlace(app)
  const { account, domain } = place
  const planned = await planFile(place, table([`https://${domain.name}/a`, tea]))
  const other = await planFile(place, table([`https://${domain.name}/b`, tea]))
  const begin = async (id: number, kind: 'apply' | 'undo') => {
    const actor = commandActor(account, 'operator')
    await addJob(storage, { kind, record: 'import', record_id: id, account, actor, token: randomUUID() })
  }
  const end = (record_id: number) =>
    storage.execute(query.updateTable('jobs').set({ free_at_ms: 0 }).where('record_id', '=', record_id))
  await begin(other.id, 'undo')
  const running = await place.send('POST', `/imports/${planned.id}/apply`)
  assert.deepEqual([running.status, running.body.code, running.headers['retry-after']], [409, 'import_running', '5'])
  await storage.write((tx) => cancelJob(tx, { record: 'import', record_id: other.id }))
  await begin(planned.id, 'apply')
  assert.equal((await place.send('POST', `/imports/${planned.id}/apply`)).status, 202)
  assert.deepEqual(await linksOf(place), [])
  await end(planned.id)
  assert.ok((await place.send('POST', `/imports/${planned.id}/apply`)).status < 300)
  await eventually(async () => (await place.send('GET', `/imports/${planned.id}`)).body.data.state === 'applied')
  assert.equal((await linksOf(place)).length, 1)
})

test('deletes unapplied plans after 7 days, and rows of applied and interrupted imports after 30', async () => {
  const place = await newPlace(app)
  const file = table([`https://${place.domain.name}/a`, tea], [`https://${place.domain.name}/b`, tea])
  const [applied, unapplied] = [await planFile(place, file), await planFile(place, file)]
  await applyImport(place, applied)
  const dayMs = 86_400_000
  const expireAfter = async (days: number) => {
    const now = () => Date.now() + days * dayMs
    await expireImports(storage, now())
    await importsOn(storage, now).jobs.finish()
  }
  await expireAfter(6)
  assert.equal((await rowsOf(place, unapplied.id)).length, 2)
  await expireAfter(8)
  assert.equal((await place.send('GET', `/imports/${unapplied.id}`)).status, 404)
  assert.equal((await rowsOf(place, applied.id)).length, 2)
  const interrupted = await planFile(place, file)
  await storage.execute(query.updateTable('imports').set({ state: 'applying' }).where('id', '=', interrupted.id))
  await expireAfter(31)
  assert.equal((await rowsOf(place, interrupted.id)).length, 0)
  const late = query.updateTable('imports').set({ updated_at: new Date(Date.now() - 31 * dayMs).toISOString() })
  await storage.execute(late.where('id', '=', interrupted.id))
  assert.equal((await place.send('POST', `/imports/${interrupted.id}/apply`)).body.code, 'import_state')
  assert.equal((await rowsOf(place, applied.id)).length, 0)
  assert.equal((await place.send('GET', `/imports/${applied.id}`)).body.data.rows, 2)
  const left = await storage.execute(query.selectFrom('imports').select('id').where('is_deleting', '=', 1))
  assert.deepEqual(left, [])
})

test('a file with one address in thousands of rows is planned in time', async () => {
  const place = await newPlace(app)
  const rows = Array.from({ length: 5_000 }, (_, n) => [`https://${place.domain.name}/same`, `${tea}/${n}`] as const)
  const planned = await planFile(place, table(...rows))
  assert.deepEqual([planned.outcomes.store, planned.outcomes.refuse], [1, 4_999])
  assert.equal(outcomesOf(planned)[99], 'duplicate_address')
})

test('plans what it applies if more than 100 rows have one address, in one or several spellings', async () => {
  for (const [names, expected] of [
    [Array(150).fill('same'), { store: 1, known: 149, refuse: 0 }],
    [[...Array(160).fill('Same'), 'same', 'same'], { store: 1, known: 159, refuse: 2 }],
    [['same', ...Array(160).fill('Same'), 'same'], { store: 2, known: 160, refuse: 0 }],
  ] as const) {
    const place = await newPlace(app)
    const lines = names.map((name) => [`https://${place.domain.name}/${name}`, tea] as const)
    const planned = await planFile(place, table(...lines))
    const { store, known, refuse } = planned.outcomes
    assert.deepEqual({ store, known, refuse }, expected)
    assert.deepEqual((await applyImport(place, planned)).outcomes, planned.outcomes)
    assert.equal((await linksOf(place)).length, expected.store)
  }
})

test('keeps the newest 20 plans of an account', async () => {
  const place = await newPlace(app)
  const file = table([`https://${place.domain.name}/a`, tea])
  const ids: number[] = []
  for (let at = 0; at < 22; at++) ids.push((await planFile(place, file)).id)
  const { body } = await place.send('GET', '/imports?sort=asc&per_page=25')
  assert.deepEqual(
    body.data.map(({ id }: Json) => id),
    ids.slice(2),
  )
})

test('an undo that meets an edited link leaves the import applied, and names the link', async () => {
  const place = await newPlace(app)
  const { account, domain } = place
  const planned = await planFile(place, table([`https://${domain.name}/a`, tea], [`https://${domain.name}/b`, tea]))
  await applyImport(place, planned)
  const [link] = await linksOf(place)
  const subject = { record: 'import', record_id: planned.id } as const
  // The request has compared the links before the edit.
  await addJob(storage, { ...subject, kind: 'undo', account, actor: commandActor(account, 'operator') })
  await place.send('PATCH', `/links/${link.id}`, { json: { title: 'New' } })
  await assert.rejects(importsOn(storage).jobs.run(subject), { code: 'import_edited' })
  assert.equal((await place.send('GET', `/imports/${planned.id}`)).body.data.state, 'applied')
  assert.equal((await linksOf(place)).length, 1)
})

test('its state follows its events: undone and applied again in the history, and undone once more', async () => {
  const place = await newPlace(app)
  const { send } = place
  const file = `short_url,url,tags\nhttps://${place.domain.name}/a,${tea},new\nhttps://${place.domain.name}/b,${tea},`
  const planned = await planFile(place, file)
  await applyImport(place, planned)
  const stateOf = async () => (await send('GET', `/imports/${planned.id}`)).body.data.state
  const undoBatch = async (type: string) => {
    const [{ batch_id }] = (await send('GET', `/events?type=${type}`)).body.data
    const { body } = await send('POST', '/events/undo', { json: { batch_id } })
    assert.equal(body.meta.remaining, 0, JSON.stringify(body))
  }
  const undone = async () => (await send('GET', '/events?type=import.undone')).body.data.length
  const [first] = (await send('GET', '/events?type=link.created')).body.data
  await send('POST', `/events/${first.id}/undo`)
  assert.equal(await stateOf(), 'applied')
  await undoBatch('link.created')
  assert.deepEqual([await stateOf(), await undone()], ['undone', 1])
  await undoBatch('link.deleted')
  assert.deepEqual([await stateOf(), (await linksOf(place)).length], ['applied', 1])
  assert.equal((await undoImport(place, planned)).state, 'undone')
  assert.deepEqual([(await linksOf(place)).length, await undone()], [0, 2])
})
