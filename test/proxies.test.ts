/** The proxy files of deploy/, where Caddy and nginx are installed. Otherwise, the tests are skipped. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newDatabase as newPostgresDatabase } from './postgres-database.ts'
import { freePort, listening, newFolder, type RunningServer } from './processes.ts'
import { apiName, missing, type RunningProxy, startCaddy, startNginx, type Upstreams } from './proxies.ts'
import { run, startServer } from './waymark.ts'

async function stored(server: RunningServer, path: string, form: Record<string, string>): Promise<number> {
  const answer = await server.send('POST', `/api/v1/${path}`, { form })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data.id
}

test('Caddy serves a stored domain over HTTPS at its first request, and gets no certificate for unknown and deleted domains', {
  skip: missing('caddy'),
}, async (t) => {
  const [visitors, ops] = [String(await freePort()), String(await freePort())]
  const server = await startServer(t, {
    DATABASE_URL: `sqlite:${join(newFolder(t), 'waymark.db')}`,
    REDIRECT_PORT: visitors,
    OPS_PORT: ops,
    SHORT_URL: 'https://{domain}',
    TRUST_PROXY: '127.0.0.1',
  })
  const upstreams = {
    WAYMARK_API: `127.0.0.1:${server.port}`,
    WAYMARK_VISITORS: `127.0.0.1:${visitors}`,
    WAYMARK_OPS: `127.0.0.1:${ops}`,
    WAYMARK_OPS_PORT: ops,
  }
  const storage = newFolder(t)
  const caddy = await startCaddy(t, storage, upstreams)

  await assert.rejects(caddy.send('GET', 'https://go.waymark.test/summer'))
  const go = await stored(server, 'domains', { name: 'go.waymark.test' })
  const link = { domain_id: String(go), alias: 'summer', url: 'https://acme.com/summer' }
  await stored(server, 'links', link)
  const followed = { status: 302, location: 'https://acme.com/summer' }
  assert.deepEqual(await caddy.send('GET', 'https://go.waymark.test/Summer'), followed)
  const kept = await stored(server, 'domains', { name: 'kept.waymark.test' })
  await stored(server, 'links', { ...link, domain_id: String(kept) })
  assert.deepEqual(await caddy.send('GET', 'https://kept.waymark.test/summer'), followed)

  assert.equal((await server.send('DELETE', `/api/v1/domains/${go}?links=delete`)).status, 204)
  await caddy.stop()
  // Simulates a renewal: the domain has no certificate.
  rmSync(join(storage, 'certificates'), { recursive: true })
  const restarted = await startCaddy(t, storage, upstreams)
  await assert.rejects(restarted.send('GET', 'https://go.waymark.test/summer'))
  assert.deepEqual(await restarted.send('GET', 'https://kept.waymark.test/summer'), followed)
  await restarted.stop()
})

const domain = 'https://go.waymark.test'
const unknown = `https://${apiName}/api/v1/spaces/1`
/** A destination of 8,192 characters. */
const longest = `https://acme.com/?${'a'.repeat(8_192 - 18)}`

/** Starts two nodes on one database, which has a link, and one with the longest destination. */
async function startNodes(t: TestContext) {
  const { url, drop } = await newPostgresDatabase()
  t.after(drop)
  const [port, visitors, ops] = [String(await freePort()), String(await freePort()), String(await freePort())]
  const start = (host: string) => {
    const hosts = { HOST: host, REDIRECT_HOST: host, OPS_HOST: host }
    const ports = { PORT: port, REDIRECT_PORT: visitors, OPS_PORT: ops }
    return listening(run(t, { ...hosts, ...ports, DATABASE_URL: url, TRUST_PROXY: '127.0.0.1', RATE_LIMIT: '0' }))
  }
  const first = await start('127.0.0.1')
  const domain_id = String(await stored(first, 'domains', { name: 'go.waymark.test' }))
  await stored(first, 'links', { domain_id, alias: 'summer', url: 'https://acme.com/summer' })
  await stored(first, 'links', { domain_id, alias: 'long', url: longest, forward_query: 'true' })
  // The health checks of Caddy use one port for all nodes, so the second has another address of this machine.
  const second = await start('127.0.0.2')
  const both = (each: string) => `127.0.0.1:${each} 127.0.0.2:${each}`
  const upstreams: Upstreams = {
    WAYMARK_API: both(port),
    WAYMARK_VISITORS: both(visitors),
    WAYMARK_OPS: both(ops),
    WAYMARK_OPS_PORT: ops,
  }
  return { key: first.key, second, upstreams }
}

/** Sends ten requests of each method at the same time. Returns the statuses by method. */
async function statusesOf(proxy: RunningProxy, methods: readonly string[], url: string, headers = {}) {
  const sent = Array.from({ length: 10 }, () =>
    methods.map(async (method) => [method, (await proxy.send(method, url, headers)).status] as const),
  )
  const answers = await Promise.all(sent.flat())
  return Object.fromEntries(
    methods.map((each) => [each, answers.filter(([method]) => method === each).map(([, status]) => status)]),
  )
}

const all = (status: number) => Array(10).fill(status)

const proxies: Readonly<Record<string, (t: TestContext, upstreams: Upstreams) => Promise<RunningProxy>>> = {
  caddy: (t, upstreams) => startCaddy(t, newFolder(t), upstreams),
  nginx: startNginx,
}
for (const [program, start] of Object.entries(proxies)) {
  test(`${program} sends the longest redirect, and sends only GET and HEAD to the next node when one hangs`, {
    skip: missing(program),
  }, async (t) => {
    const { key, second, upstreams } = await startNodes(t)
    const proxy = await start(t, upstreams)
    const headers = { authorization: `Bearer ${key}` }

    const query = 'b'.repeat(8_192 - '/long?'.length)
    for (let n = 0; n < 4; n++) {
      const { status, location } = await proxy.send('GET', `${domain}/long?${query}`)
      assert.deepEqual([status, location === `${longest}&${query}`], [302, true])
      assert.equal((await proxy.send('GET', `${domain}/summer`)).status, 302)
    }

    second.child.kill('SIGSTOP')
    // Before the others: the proxy prefers the node with fewer pending requests, so it would avoid the node that hangs.
    const writes = statusesOf(proxy, ['PUT', 'DELETE'], unknown, headers)
    const visits = statusesOf(proxy, ['GET', 'HEAD'], `${domain}/summer`)
    const reads = await statusesOf(proxy, ['GET', 'HEAD'], unknown, headers)
    assert.deepEqual(
      [await visits, reads],
      [
        { GET: all(302), HEAD: all(302) },
        { GET: all(404), HEAD: all(404) },
      ],
    )
    const sent = Object.values(await writes).flat()
    const failed = sent.filter((status) => status === 502 || status === 504)
    assert.ok(failed.length > 0, String(sent))
    assert.deepEqual(new Set(sent), new Set([404, ...failed]))

    await second.end('SIGKILL')
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'PUT', 'DELETE']) {
      assert.deepEqual(await statusesOf(proxy, [method], unknown, headers), { [method]: all(404) })
    }
    await proxy.stop()
  })
}
