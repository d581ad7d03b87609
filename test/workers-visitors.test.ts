/** Visitors of `WORKERS=2`: two processes behind one port; either may answer the next connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendRequest } from './client.ts'
import { eventually, freePortRow, newDatabase } from './processes.ts'
import { startVisited, type VisitedServer } from './visited-server.ts'

const workers = 2
const host = 'http://go.acme.com'

/** How many visits a worker has answered, as its own ops listener tells. */
async function answeredBy(opsPort: number): Promise<number> {
  const target = { agent: undefined, port: opsPort, method: 'GET', path: '/metrics' }
  const { text } = await sendRequest(target, { key: null })
  const counts = text.matchAll(/^waymark_visits_total\{.*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Visits on fresh connections until every worker has answered some of at least `visits`; returns what was answered. */
async function visitAll(server: VisitedServer, ports: readonly number[], url: string, visits = 10): Promise<unknown[]> {
  const before = await Promise.all(ports.map(answeredBy))
  const told: unknown[] = []
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: visits }, () => server.visit(url)))
    told.push(...answers.map(({ status, headers }) => headers.location ?? status))
    const now = await Promise.all(ports.map(answeredBy))
    return now.every((count, slot) => count > (before[slot] as number))
  })
  return told
}

test('every worker shows an edit, a new alias and a deletion within a second', async (t) => {
  const first = await freePortRow(workers)
  const ports = Array.from({ length: workers }, (_, slot) => first + slot)
  const variables = { ...newDatabase(t).variables, WORKERS: String(workers), OPS_PORT: String(first) }
  const server = await startVisited(t, variables)
  await eventually(() =>
    Promise.all(ports.map(answeredBy)).then(
      () => true,
      () => false,
    ),
  )
  await server.stored('/domains', { name: 'go.acme.com' })
  const { id } = await server.stored('/links', { alias: 'sale', url: 'https://acme.com/0' })
  const took: number[] = []
  /** All workers answer so, from some moment within a second on. */
  const everywhere = async (url: string, expected: string | number) => {
    const start = performance.now()
    await eventually(async () => (await visitAll(server, ports, url)).every((told) => told === expected))
    took.push(performance.now() - start)
  }
  const edit = async (json: object) => {
    assert.equal((await server.ask('PATCH', `/links/${id}`, { json })).status, 200)
  }
  await everywhere(`${host}/sale`, 'https://acme.com/0')
  for (let n = 1; n <= 3; n++) {
    await edit({ url: `https://acme.com/${n}` })
    await everywhere(`${host}/sale`, `https://acme.com/${n}`)
  }
  await edit({ alias: 'autumn' })
  await everywhere(`${host}/autumn`, 'https://acme.com/3')
  await everywhere(`${host}/sale`, 404)
  await server.stored('/domains', { name: 'other.acme.com', homepage_url: 'https://acme.com/home' })
  await everywhere('http://other.acme.com/', 'https://acme.com/home')
  assert.equal((await server.ask('DELETE', `/links/${id}`)).status, 204)
  await everywhere(`${host}/autumn`, 404)
  t.diagnostic(`seen everywhere after ${took.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  const [median = 0] = took.sort((a, b) => a - b).slice(took.length >> 1)
  assert.ok(median < 2_000, String(took))

  await server.stored('/links', { alias: 'one', url: 'https://acme.com', clicks_limit: 5 })
  const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await server.visit(`${host}/one`)).status))
  assert.equal(statuses.filter((status) => status === 302).length, 5, String(statuses))
  assert.equal((await server.end('SIGTERM')).code, 0)
})
