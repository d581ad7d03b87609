/** Jobs of imports, and what others change while a request or a job prepares for them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { startApp } from '../../test/app.ts'
import { applyImport, linksOf, planFile, table, tea } from '../../test/imports.ts'
import { newPlace } from '../../test/links-api.ts'
import { commandActor } from '../access/actor.ts'
import { addJob } from '../jobs/store.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { ImportActions } from './actions.ts'
import { type ImportJob, runImportJob } from './jobs.ts'
import { importOptions } from './schema.ts'

const app = await startApp()
const { storage } = app
const rules = { shortUrl: (domain: string, alias: string) => `http://${domain}/${alias}`, urlSchemes: [] }
const options = importOptions.check({}) as Exclude<ReturnType<typeof importOptions.check>, Error>

interface Meanwhile {
  /** What happens after a job. */
  readonly after?: (job: ImportJob) => unknown
  /** What happens before the last transaction of a job. */
  readonly beforeEnd?: () => unknown
  /** What happens before the first transaction of a request. */
  readonly before?: () => unknown
}

/** Returns the actions of a process. Others do something meanwhile. */
function importsWith({ after, beforeEnd, before }: Meanwhile = {}) {
  const { reversals, jobs } = actionsOn(storage)
  let isEnding = false
  const connection: Db = {
    execute: (query) => storage.execute(query),
    write: async (work) => {
      if (isEnding) await beforeEnd?.()
      return storage.write(work)
    },
  }
  const onApplied = () => {
    isEnding = true
  }
  const run = async (job: ImportJob) => {
    const id = await runImportJob(connection, job, { rules, onApplied })
    await after?.(job)
    return id
  }
  const delayed = new Proxy(storage, {
    get: (target, name: keyof Storage) => {
      if (name === 'write') return async (work: never) => Promise.resolve(before?.()).then(() => storage.write(work))
      const member = target[name]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const parts = { rules, run, reversals, jobs, prove: () => Promise.resolve(), patienceMs: null }
  return { imports: new ImportActions(delayed, parts), reversals }
}

const { imports } = importsWith()

/** Calls a function the first time. */
function once(work: () => Promise<unknown>): () => Promise<unknown> {
  let result: Promise<unknown> | undefined
  return () => (result ??= work())
}

test('412 for an application whose import is planned again while its plan is checked', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const host = place.domain.name
  await place.link({ domain_id: place.domain.id, alias: 'a', url: `${tea}/other` })
  const planned = await planFile(place, table([`https://${host}/a`, tea], [`https://${host}/b`, tea]), {
    conflict: 'skip',
  })
  const again = once(() => imports.replan(actor, planned.id, { conflict: 'update' }))
  const checked = importsWith({ after: ({ kind }) => kind === 'check' && again() }).imports
  await assert.rejects(checked.apply(actor, planned.id), { code: 'precondition_failed' })
  assert.deepEqual(
    (await linksOf(place)).map(({ url }) => url),
    [`${tea}/other`],
  )
  const { shown } = await imports.apply(actor, planned.id)
  assert.deepEqual([shown.record.state, shown.record.outcomes.update], ['applied', 1])
})

test('an import stays undone whose links the history deletes while its application ends', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const planned = await planFile(place, table([`https://${place.domain.name}/a`, tea]))
  const batch = (await imports.findStored(place.account, planned.id))?.batchId ?? ''
  const undo = once(async () => {
    for await (const _ of reversals.undoBatch(commandActor(place.account, 'operator'), batch));
  })
  const { imports: undone, reversals } = importsWith({ beforeEnd: undo })
  const { shown } = await undone.apply(actor, planned.id)
  assert.deepEqual([shown.record.state, shown.record.progress, await linksOf(place)], ['undone', null, []])
  const { body } = await place.send('GET', '/events?type=import.applied')
  assert.deepEqual(body.data, [])
})

test('a plan keeps the choices of another one that ends just before it', async () => {
  const place = await newPlace(app)
  const actor = commandActor(place.account, 'operator')
  const file = Buffer.from(`short_url,url,extra\nhttps://${place.domain.name}/a,${tea},T\n`)
  const { record } = (await imports.plan(actor, file, { type: null, options: options as never })).shown
  const columns = { short_url: 'short_url', url: 'url', extra: 'title' }
  const late = importsWith({ before: once(() => imports.replan(actor, record.id, { columns })) }).imports
  await late.replan(actor, record.id, { tag: 'New' })
  const stored = await imports.findStored(place.account, record.id)
  assert.deepEqual([stored?.options.tag, stored?.options.columns], ['New', columns])
  await imports.apply(actor, record.id)
  assert.deepEqual(
    (await linksOf(place)).map(({ title, tags }) => [title, tags]),
    [['T', ['New']]],
  )
})

test('409 for a proof of an import whose rows are being deleted, or may be gone', async () => {
  const place = await newPlace(app)
  const { account } = place
  const actor = commandActor(account, 'operator')
  const applied = async (alias: string) =>
    applyImport(place, await planFile(place, table([`https://${place.domain.name}/${alias}`, tea])))
  const [deleted, old] = [await applied('a'), await applied('b')]
  const job = { kind: 'deletion', record: 'import', record_id: deleted.id, account } as const
  await addJob(storage, { ...job, token: randomUUID() })
  await assert.rejects(imports.proof(actor, deleted.id), { code: 'import_running' })
  const { progress } = (await place.send('GET', `/imports/${deleted.id}`)).body.data
  assert.equal(progress, null)
  const applied_at = new Date(Date.now() - 31 * 86_400_000).toISOString()
  await storage.execute(query.updateTable('imports').set({ applied_at }).where('id', '=', old.id))
  await assert.rejects(imports.proof(actor, old.id), { code: 'import_state' })
})
