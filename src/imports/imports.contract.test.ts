/** Section 17 of the API: imports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'

const app = await startApp()
const send = (method: string, path: string, request: Json = {}) => app.send(method, `/api/v1${path}`, request)
await send('POST', '/domains', { json: { name: 'sip.example' } })

/** Sends a file to be planned. */
function sendFile(body: string, query = '', type = 'text/csv'): Promise<Answer> {
  return send('POST', `/imports${query}`, { body, headers: { 'content-type': type } })
}

/** Plans a file, and returns the import with its rows. */
async function plan(body: string, query = '', type = 'text/csv'): Promise<Json> {
  const answer = await sendFile(body, query, type)
  assert.equal(answer.status, 201, answer.text)
  const { id } = answer.body.data
  assert.equal(answer.headers.location, `${app.origin}/api/v1/imports/${id}`)
  const rows = await send('GET', `/imports/${id}/rows?per_page=100`)
  return { ...answer.body.data, shown: rows.body.data }
}

const bitly = `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status
https://sip.example/4kQz9L,https://sip.example/Tea-Menu,2025-03-09T07:15:00+0000,Tea,https://tea.example/,"2,048",Active
`

test('plans, applies and undoes a file of Bitly', async () => {
  const planned = await plan(bitly)
  assert.deepEqual(
    [planned.source, planned.state, planned.rows, planned.outcomes.store, planned.clicks, planned.case_insensitive],
    ['bitly', 'planned', 1, 1, 2_048, 2],
  )
  assert.deepEqual(planned.losses, [{ kind: 'click_times', rows: 1 }])
  assert.equal((await send('GET', '/links')).body.data.length, 0)
  const applied = await send('POST', `/imports/${planned.id}/apply`)
  assert.deepEqual([applied.status, applied.body.data.state], [200, 'applied'])
  const [link] = (await send('GET', '/links')).body.data
  assert.deepEqual(
    [link.alias, link.url, link.title, link.clicks, link.created_at],
    ['Tea-Menu', 'https://tea.example/', 'Tea', 2_048, '2025-03-09T07:15:00.000Z'],
  )
  const [event] = (await send('GET', '/events?type=link.created')).body.data
  assert.equal(event.changes.addresses[1][0].alias, '4kQz9L')
  const undone = await send('POST', `/imports/${planned.id}/undo`)
  assert.deepEqual([undone.status, undone.body.data.state], [200, 'undone'])
  assert.equal((await send('GET', '/links')).body.data.length, 0)
})
