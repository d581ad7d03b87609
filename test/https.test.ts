/**
 * deploy/Caddyfile with the real Caddy and its own authority: a stored domain is served over HTTPS at its first request,
 * and no other name gets a certificate. Left out, and said so, where there is no `caddy` on the PATH.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually, freePort, newFolder, type RunningServer, startProgram, startServer } from './processes.ts'
import { repository } from './scripts.ts'

const hasCaddy = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'caddy')))
const apiName = 'links.waymark.test'

interface Proxy {
  /** The status and the Location of a GET over HTTPS. Rejects when there is no trusted certificate for the name. */
  get(url: string): Promise<{ readonly status: number; readonly location: string | undefined }>
  stop(): Promise<void>
}

/** Starts Caddy in front of the server, with its certificates in `storage`. */
async function startCaddy(
  t: TestContext,
  storage: string,
  addresses: Readonly<Record<string, string>>,
): Promise<Proxy> {
  const [httpPort, port, askPort] = [await freePort(), await freePort(), await freePort()]
  const options = `admin off\nhttp_port ${httpPort}\nhttps_port ${port}\nlocal_certs\nskip_install_trust\nstorage file_system ${storage}`
  const caddy = startProgram(t, ['caddy', 'run', '--adapter', 'caddyfile', '--config', 'deploy/Caddyfile'], {
    ...addresses,
    WAYMARK_HOST: apiName,
    ASK_PORT: String(askPort),
    CADDY_OPTIONS: options,
  })
  const root = join(storage, 'pki/authorities/local/root.crt')
  const get: Proxy['get'] = (url) => {
    const { hostname: servername, pathname: path } = new URL(url)
    const headers = { host: servername, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0' }
    const target = { host: '127.0.0.1', port, servername, path, headers, ca: readFileSync(root), agent: false }
    return new Promise((resolve, reject) => {
      const sent = request(target, (response) => {
        response.resume()
        resolve({ status: response.statusCode as number, location: response.headers.location })
      })
      sent.on('error', reject).end()
    })
  }
  const isUp = () =>
    get(`https://${apiName}/health`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await eventually(async () => existsSync(root) && (await isUp()), 60_000)
  return {
    get,
    stop: async () => {
      caddy.child.kill('SIGTERM')
      await caddy.ended
    },
  }
}

async function stored(server: RunningServer, path: string, form: Record<string, string>): Promise<number> {
  const answer = await server.send('POST', `/api/v1/${path}`, { form })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data.id
}

test('serves a stored domain over HTTPS at its first request, and gets no certificate for unknown and deleted domains', {
  skip: hasCaddy ? false : 'there is no caddy on the PATH (apt-get install caddy)',
}, async (t) => {
  assert.ok(existsSync(join(repository, 'deploy/Caddyfile')))
  const [visitors, ops] = [String(await freePort()), String(await freePort())]
  const server = await startServer(t, {
    DATABASE_URL: `sqlite:${join(newFolder(t), 'waymark.db')}`,
    REDIRECT_PORT: visitors,
    OPS_PORT: ops,
    SHORT_URL: 'https://{domain}',
    TRUST_PROXY: '127.0.0.1',
  })
  const addresses = {
    WAYMARK_API: `127.0.0.1:${server.port}`,
    WAYMARK_VISITORS: `127.0.0.1:${visitors}`,
    WAYMARK_OPS: `127.0.0.1:${ops}`,
    WAYMARK_OPS_PORT: ops,
  }
  const storage = newFolder(t)
  const caddy = await startCaddy(t, storage, addresses)

  await assert.rejects(caddy.get('https://go.waymark.test/summer'))
  const go = await stored(server, 'domains', { name: 'go.waymark.test' })
  const link = { domain_id: String(go), alias: 'summer', url: 'https://acme.com/summer' }
  await stored(server, 'links', link)
  const followed = { status: 302, location: 'https://acme.com/summer' }
  assert.deepEqual(await caddy.get('https://go.waymark.test/Summer'), followed)
  const kept = await stored(server, 'domains', { name: 'kept.waymark.test' })
  await stored(server, 'links', { ...link, domain_id: String(kept) })
  assert.deepEqual(await caddy.get('https://kept.waymark.test/summer'), followed)

  assert.equal((await server.send('DELETE', `/api/v1/domains/${go}?links=delete`)).status, 204)
  await caddy.stop()
  // Simulates a renewal: the domain has no certificate.
  rmSync(join(storage, 'certificates'), { recursive: true })
  const restarted = await startCaddy(t, storage, addresses)
  await assert.rejects(restarted.get('https://go.waymark.test/summer'))
  assert.deepEqual(await restarted.get('https://kept.waymark.test/summer'), followed)
  await restarted.stop()
})
