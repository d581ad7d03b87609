/** The page of an import while its old links are checked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addJob, findJob } from '../../src/jobs/store.ts'
import { startApp } from '../app.ts'
import { newOwner } from '../dashboard.ts'
import { applyImport, planFile, table, tea } from '../imports.ts'

const app = await startApp()

test('a running check shows its progress, and stops with a button', async () => {
  const owner = await newOwner(app)
  const { browser, account, domain } = owner
  const { id } = await applyImport(owner, await planFile(owner, table([`https://${domain.name}/tea`, tea])))
  const path = `/app/import/${id}`
  const proof = { record: 'proof', record_id: id } as const
  await addJob(app.storage, { ...proof, kind: 'proof', account, done: 3, total: 8, token: 'another process' })
  const running = await browser.open(path)
  assert.match(running.text, /Addresses checked: 3 of 8/)
  const stopped = await browser.after(await browser.submit(running, `${path}/proof/stop`))
  assert.ok(stopped.actions.includes(`${path}/proof`))
  assert.equal(await findJob(app.storage, proof), undefined)
  const again = await browser.submit(running, `${path}/proof/stop`)
  assert.deepEqual([again.status, again.headers.location], [303, `${path}#proof`])
})
