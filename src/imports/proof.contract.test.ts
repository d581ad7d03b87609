/** The proof of imports over the API, with old services on this machine. */
import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startApp, type TestApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { finishJobs } from '../../test/jobs.ts'
import { eventually, freePort } from '../../test/processes.ts'
import { listenOn } from '../../test/servers.ts'
import type { ProofHosts } from './old-service.ts'

const tea = 'https://tea.example/'
const csv = { 'content-type': 'text/csv' }

/** Sends the requests for hosts to ports of this machine. */
function hostsAt(ports: Readonly<Record<string, number>>) {
  return new Map(Object.entries(ports).map(([host, port]) => [host, { address: '127.0.0.1', port }]))
}

/** Starts an app with domains. */
async function startNew(hosts: ProofHosts, domains: readonly string[] = [...hosts.keys()]): Promise<TestApp> {
  const app = await startApp({ proofHosts: hosts })
  for (const name of domains) await app.stored('/domains', { name })
  return app
}

/** Imports links, and returns the id of the import. */
async function imported(app: TestApp, links: Readonly<Record<string, string>>, query = ''): Promise<number> {
  const rows = Object.entries(links).map(([address, url]) => `https://${address},${url}`)
  const body = `short_url,url\n${rows.join('\n')}\n`
  const plan = await app.send('POST', `/api/v1/imports${query}`, { body, headers: csv })
  assert.match(String(plan.status), /^20[12]$/, plan.text)
  const { id } = plan.body.data
  // A busy machine takes longer than the request waits.
  await eventually(async () => (await app.send('GET', `/api/v1/imports/${id}`)).body.data.state === 'planned')
  const applied = await complete(app, id, 'apply', ({ state }) => state === 'applied')
  assert.equal(applied.state, 'applied')
  return id
}

/** Starts a job of an import, and polls the import until it is done. */
async function complete(app: TestApp, id: number, job: string, isDone: (record: Json) => boolean): Promise<Json> {
  const started = await app.send('POST', `/api/v1/imports/${id}/${job}`)
  assert.match(String(started.status), /^20[02]$/, started.text)
  for (;;) {
    const { body } = await app.send('GET', `/api/v1/imports/${id}`)
    if (isDone(body.data)) return body.data
  }
}

const prove = (app: TestApp, id: number) => complete(app, id, 'proof', ({ proof }) => proof.pending === 0)

/** Returns the proofs of an import by old URL. */
async function proofsOf(app: TestApp, id: number, query = ''): Promise<Record<string, Json>> {
  const { body } = await app.send('GET', `/api/v1/imports/${id}/rows?per_page=100${query}`)
  const addresses: Json[] = body.data.flatMap((row: Json) => row.addresses)
  return Object.fromEntries(addresses.map(({ old_url, proof }) => [old_url.replace('https://', ''), proof]))
}

/** Starts a server like that of another service: 301 to the URL of a keyword. */
async function startOld(t: TestContext, urls: Record<string, string>) {
  const asked: string[] = []
  const server: Server = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`)
    const location = urls[`${request.headers.host}${request.url}`]
    response.writeHead(location === undefined ? 404 : 301, location === undefined ? {} : { location }).end()
  })
  const port = await listenOn(t, server)
  return { port, asked }
}

test('proves links that come from another Waymark, and counts no human clicks', async () => {
  // On PostgreSQL, the databases of tests are copies of one, which share its id.
  const old = await startApp({ engine: 'sqlite' })
  await old.stored('/domains', { name: 'go.acme.com' })
  const links = [
    { alias: 'tea', url: tea },
    { alias: 'permanent', url: tea, redirect_status: 301 },
    { alias: 'moved', url: `${tea}old` },
    { alias: 'Grün', url: tea },
  ]
  for (const link of links) await old.stored('/links', link)
  const app = await startNew(hostsAt({ 'go.acme.com': old.visitPort }))
  const file = ['tea', 'permanent', 'moved', 'gr%C3%BCn', 'missing'].map((alias) => [`go.acme.com/${alias}`, tea])
  const id = await imported(app, Object.fromEntries(file))
  const before = (await app.send('GET', `/api/v1/imports/${id}`)).body.data
  assert.equal(before.proof.pending, 5)
  const record = await prove(app, id)
  assert.deepEqual(record.proof, { pending: 0, same: 2, same_location: 1, differs: 2, unreachable: 0 })
  const to = (status: number, location: string | null) => ({ status, location })
  assert.deepEqual(await proofsOf(app, id), {
    'go.acme.com/tea': { result: 'same', old: to(302, tea), new: to(302, tea) },
    'go.acme.com/permanent': { result: 'same_location', old: to(301, tea), new: to(302, tea) },
    'go.acme.com/moved': { result: 'differs', old: to(302, `${tea}old`), new: to(302, tea) },
    'go.acme.com/gr%C3%BCn': { result: 'same', old: to(302, tea), new: to(302, tea) },
    'go.acme.com/missing': { result: 'differs', old: to(404, null), new: to(302, tea) },
  })
  assert.deepEqual(Object.keys(await proofsOf(app, id, '&proof=same_location')), ['go.acme.com/permanent'])
  for (const each of [app, old]) {
    const { body } = await each.send('GET', '/api/v1/links?per_page=100')
    assert.ok(body.data.every(({ clicks }: Json) => clicks === 0))
  }
})

test('repeats every address that is not the same, and no other', async (t) => {
  const urls: Record<string, string> = { 'old.example/tea': tea, 'old.example/cup': `${tea}old` }
  const old = await startOld(t, urls)
  const app = await startNew(hostsAt({ 'old.example': old.port }))
  const id = await imported(app, { 'old.example/tea': tea, 'old.example/cup': tea })
  const { body } = await app.send('GET', '/api/v1/links')
  const link = body.data.find(({ alias }: Json) => alias === 'tea')
  await app.send('PATCH', `/api/v1/links/${link.id}`, { json: { redirect_status: 301 } })
  assert.deepEqual((await prove(app, id)).proof, { pending: 0, same: 1, same_location: 0, differs: 1, unreachable: 0 })
  urls['old.example/cup'] = tea
  old.asked.length = 0
  const { proof } = await prove(app, id)
  assert.deepEqual(proof, { pending: 0, same: 1, same_location: 1, differs: 0, unreachable: 0 })
  assert.deepEqual(old.asked, ['old.example/.well-known/waymark', 'old.example/cup'])
})

test('proves the old address of a mapped host, of a renamed alias and of further addresses', async (t) => {
  const old = await startOld(t, { 'old.example/tea': tea, 'old.example/cup': tea })
  const app = await startNew(hostsAt({ 'old.example': old.port }), ['go.acme.com'])
  await app.stored('/links', { alias: 'cup', url: `${tea}taken` })
  const links = { 'old.example/tea': tea, 'old.example/cup': tea }
  const id = await imported(app, links, '?domain_map=old.example=go.acme.com&conflict=rename')
  assert.deepEqual((await prove(app, id)).proof, { pending: 0, same: 0, same_location: 2, differs: 0, unreachable: 0 })
})

test('is unreachable if nothing listens, or the host reaches this server already', async () => {
  const hosts = hostsAt({ 'closed.example': await freePort() })
  const app = await startNew(hosts, ['closed.example', 'here.example'])
  hosts.set('here.example', { address: '127.0.0.1', port: app.visitPort })
  const id = await imported(app, { 'closed.example/tea': tea, 'here.example/tea': tea })
  assert.deepEqual((await prove(app, id)).proof, { pending: 0, same: 0, same_location: 0, differs: 0, unreachable: 2 })
  const proofs = await proofsOf(app, id)
  const none = { status: null, location: null }
  const unreachable = { result: 'unreachable', old: none, new: { status: 302, location: tea } }
  assert.deepEqual(proofs, { 'closed.example/tea': unreachable, 'here.example/tea': unreachable })
  assert.equal(app.measured.visits.redirect, 0)
})

test('differs if the link or its domain is deleted after the import', async (t) => {
  const old = await startOld(t, { 'old.example/tea': tea, 'gone.example/tea': tea })
  const app = await startNew(hostsAt({ 'old.example': old.port, 'gone.example': old.port }))
  const id = await imported(app, { 'old.example/tea': tea, 'gone.example/tea': tea })
  const { body } = await app.send('GET', '/api/v1/domains?search=gone')
  await app.send('DELETE', `/api/v1/domains/${body.data[0].id}?links=delete`)
  const links = await app.send('GET', '/api/v1/links')
  await app.send('DELETE', `/api/v1/links/${links.body.data[0].id}`)
  assert.deepEqual((await prove(app, id)).proof, { pending: 0, same: 0, same_location: 0, differs: 2, unreachable: 0 })
})

test('stores no URL of a link that was deleted permanently', async (t) => {
  const [kept, gone] = ['sip.example/kept', 'sip.example/gone']
  const { port } = await startOld(t, { [kept]: `${tea}kept`, [gone]: `${tea}gone` })
  const app = await startNew(hostsAt({ 'sip.example': port }))
  const id = await imported(app, { [kept]: `${tea}kept`, [gone]: `${tea}gone` })
  const [{ id: link }] = (await app.send('GET', '/api/v1/links?alias=gone')).body.data
  assert.equal((await app.send('DELETE', `/api/v1/links/${link}?permanently=true`)).status, 204)
  await finishJobs(app.storage)
  await prove(app, id)
  const all = await proofsOf(app, id)
  assert.deepEqual(
    [all[kept].old.location, all[gone].result, all[gone].old],
    [`${tea}kept`, 'differs', { status: 301, location: null }],
  )
})

test('sends nothing to a private address that is not configured', async (t) => {
  const old = await startOld(t, { 'localhost/tea': tea })
  const app = await startNew(new Map(), ['localhost'])
  const id = await imported(app, { 'localhost/tea': tea })
  assert.equal((await prove(app, id)).proof.unreachable, 1)
  assert.deepEqual(old.asked, [])
})

test('409 for an import that is not applied', async () => {
  const app = await startNew(new Map(), ['go.acme.com'])
  const body = `short_url,url\nhttps://go.acme.com/tea,${tea}\n`
  const { body: plan } = await app.send('POST', '/api/v1/imports', { body, headers: csv })
  const refused = await app.send('POST', `/api/v1/imports/${plan.data.id}/proof`)
  assert.deepEqual([refused.status, refused.body.code], [409, 'import_state'])
})

/** An old service that responds to `/tea` only when it is released, and counts these requests. */
async function slowService(t: TestContext) {
  const asked: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/tea') asked.push(response)
    else response.writeHead(404).end()
  })
  return { asked, port: await listenOn(t, server) }
}

test('202 while an old service is slow, 409 for another proof; 204 stops it, and an undo runs meanwhile', async (t) => {
  const { asked, port } = await slowService(t)
  const app = await startNew(hostsAt({ 'old.example': port }))
  const id = await imported(app, { 'old.example/tea': tea })
  const other = await imported(app, { 'old.example/cup': tea })
  const send = (method: string, path: string) => app.send(method, `/api/v1/imports/${path}`)
  const started = await send('POST', `${id}/proof`)
  assert.deepEqual([started.status, started.body.data.proof.pending], [202, 1])
  assert.deepEqual(started.body.data.progress, { done: 0, total: 1 })
  await eventually(() => asked.length === 1)
  assert.equal((await send('POST', `${id}/proof`)).status, 202)
  const rival = await send('POST', `${other}/proof`)
  assert.deepEqual([rival.status, rival.body.code], [409, 'import_running'])
  assert.equal((await send('DELETE', `${id}/proof`)).status, 204)
  assert.equal((await send('GET', String(id))).body.data.progress, null)
  const again = await send('DELETE', `${id}/proof`)
  assert.deepEqual([again.status, again.body.code], [409, 'import_state'])
  assert.equal((await send('POST', `${id}/proof`)).status, 202)
  const undone = await send('POST', `${id}/undo`)
  assert.ok(undone.status < 300, undone.text)
  await eventually(async () => (await send('GET', String(id))).body.data.state === 'undone')
  assert.equal((await send('DELETE', `${id}/proof`)).status, 409)
  await app.close()
})

test('continues the proof of a process that ends', async (t) => {
  const { asked, port } = await slowService(t)
  const hosts = hostsAt({ 'old.example': port })
  const app = await startNew(hosts)
  const id = await imported(app, { 'old.example/tea': tea })
  const ending = await startApp({ proofHosts: hosts, storage: () => app.storage })
  assert.equal((await ending.send('POST', `/api/v1/imports/${id}/proof`, { key: app.key })).status, 202)
  await eventually(() => asked.length === 1)
  await ending.close()
  await eventually(() => asked.length === 2)
  asked[1]?.writeHead(301, { location: tea }).end()
  await eventually(async () => {
    const { progress, proof } = (await app.send('GET', `/api/v1/imports/${id}`)).body.data
    return progress === null && proof.pending === 0
  })
})
