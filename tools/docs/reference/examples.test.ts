/** Runs the examples of the reference as the page shows them without scripts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { operations } from '../../../src/app/operations.ts'
import { addJob } from '../../../src/jobs/store.ts'
import { query } from '../../../src/storage/schema.ts'
import { startApp, type TestApp } from '../../../test/app.ts'
import { storeExampleBatch } from '../../../test/events.ts'
import { newMember } from '../../../test/members.ts'
import { pathWithCurl } from '../../../test/path.ts'
import { exampleIn, type Language } from './browser/examples.js'

const run = promisify(execFile)

/** Returns the example of each operation with a key: records are stored first, and deleted last. */
async function examplesIn(app: TestApp, language: Language): Promise<[id: string, code: string][]> {
  const { text } = await app.send('GET', '/docs', { key: null })
  // The first member is removed, so there must be another owner.
  for (const name of ['Ana', 'Ben']) await newMember(app.storage, app.account, { name })
  const undone = await storeUndoneEvent(app)
  await storeRunningProof(app)
  // `updateLinks` adds the tag into which `mergeTag` merges the first. That deletes the first, which `deleteTag` would need.
  const order = ['storeDomain', 'storeSpace', 'storeTag', 'storeLink', 'storeAddress', 'updateLinks', 'storeInvitation']
  // In this order. The host of the example has no domain, so that nothing is requested.
  order.push('planImport', 'applyImport', 'cancelProof', 'proveImport')
  const last = ['mergeTag', 'deleteLinkClicks', 'deleteLink', 'deleteLinks', 'deleteSpace', 'deleteDomain']
  const omitted = [...order, ...last, 'deleteTag']
  const rest = operations.map(({ id }) => id).filter((id) => !omitted.includes(id))
  return [...order, ...rest, ...last].map((id) => {
    const section = text.split(` id="${id}"`)[1] ?? ''
    const [, code = ''] =
      section.match(new RegExp(`<pre data-language="${language}"><code>(.*?)</code></pre>`, 's')) ?? []
    const own = decoded(code).replaceAll('https://links.example.com', app.origin)
    return [id, own.replace('/events/1/', `/events/${undone}/`)]
  })
}

/** Stores an event that was undone before, in the batch of the example, and returns its id. */
async function storeUndoneEvent(app: TestApp): Promise<number> {
  await storeExampleBatch(app.storage, app.account)
  const { body } = await app.send('GET', '/api/v1/events')
  const [{ id }] = body.data
  await app.storage.execute(query.updateTable('events').set({ undone_by: id }).where('id', '=', id))
  return id
}

/** Stores the job of another process, which proves the first import until it is cancelled. */
async function storeRunningProof(app: TestApp): Promise<void> {
  const proof = { record: 'proof', record_id: 1 } as const
  await addJob(app.storage, { ...proof, kind: 'proof', account: app.account, token: 'another process' })
  const inAnHour = Date.now() + 3_600_000
  await app.storage.execute(query.updateTable('jobs').set({ free_at_ms: inAnHour }).where('record', '=', proof.record))
}

function decoded(html: string): string {
  return html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

test('the curl example of every operation succeeds', async (t) => {
  const app = await startApp()
  const env = { KEY: app.key, PATH: pathWithCurl(t) }
  for (const [id, code] of await examplesIn(app, 'curl')) {
    let stdout: string
    do {
      stdout = (await run('sh', ['-c', `${code} -w '\\n%{http_code}'`], { env })).stdout
      // A busy machine makes any app shed load now and then.
    } while (stdout.includes('"code":"overloaded"'))
    assert.match(stdout, /\n20\d$/, `${id}: ${code}\n${stdout}`)
  }
})

test('the JavaScript example of every operation succeeds', async () => {
  const app = await startApp()
  const examples = await examplesIn(app, 'javascript')
  // One process runs all examples, each in a block with its own variables.
  const blocks = examples.map(([id, code]) => `{\n${code}\n}\nconsole.log('done: ${id}')`)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', blocks.join('\n')], {
    env: { KEY: app.key },
  })
  const outputs = stdout.split(/^done: (\w+)\n/m)
  assert.deepEqual(
    outputs.filter((_, index) => index % 2 === 1),
    examples.map(([id]) => id),
  )
  for (const [index, [id, code]] of examples.entries()) {
    assert.match(String(outputs[2 * index]), /^20\d /, `${id}: ${code}\n${outputs[2 * index]}`)
  }
})

test('examples quote values for their language', async () => {
  const url = "https://links.example.com/api/v1/spaces?search=it's"
  const text = '{"name": "it\'s null", "color": null, "ok": true}'
  const request = { method: 'POST', url, headers: { 'X-Name': 'a"b' }, needsKey: false, type: 'application/json', text }
  assert.match(exampleIn('curl', request), /search=it'\\''s' \\\n {2}-H 'X-Name: a"b'/)
  assert.match(exampleIn('javascript', request), /"X-Name": "a\\"b"/)
  assert.match(exampleIn('python', request), /"name": "it's null",\n {8}"color": None,\n {8}"ok": True\n {4}},\n/)
  const form = { ...request, type: 'application/x-www-form-urlencoded', text: 'name=a=b\n\nflag' }
  assert.match(exampleIn('curl', form), /--data-urlencode 'name=a=b' \\\n {2}--data-urlencode 'flag='/)
  assert.match(exampleIn('javascript', form), /new URLSearchParams\(\{\n {4}"name": "a=b",\n {4}"flag": ""\n {2}\}\)/)
  assert.match(exampleIn('python', form), /data=\{\n {8}"name": "a=b",\n {8}"flag": ""\n {4}\},/)
  const malformed = { ...request, text: '{"name"' }
  assert.match(exampleIn('javascript', malformed), /body: "\{\\"name\\""/)
  assert.match(exampleIn('python', malformed), /data="\{\\"name\\"",/)
})
