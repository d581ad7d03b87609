import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { startApp, type TestApp } from '../../test/app.ts'
import { anyCharacter } from '../../test/characters.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { eventually } from '../../test/processes.ts'
import { type Connection, dial } from '../../test/raw-socket.ts'
import { notFound } from '../errors.ts'
import type { Storage } from '../storage/port.ts'
import { formatDisposition, send, sendParts } from './response.ts'

const path = '/api/v1/domains'

/** A client of several large answers that reads nothing yet. */
async function slowReader(t: TestContext, app: TestApp): Promise<Connection> {
  const large = 'x'.repeat(2_000_000)
  app.router.add('GET', '/large', (exchange) => send(exchange, 200, large))
  const { client, server } = await dial(t, app.listener.server)
  client.write('GET /large HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(12))
  await eventually(async () => server.writableLength > 0)
  return { client, server }
}

function endedAnswers({ logs }: TestApp): (boolean | undefined)[] {
  return logs.filter(({ route }) => route === '/large').map(({ aborted }) => aborted as boolean | undefined)
}

for (const isLeaving of [false, true]) {
  const title = isLeaving ? 'creates no more parts when the client has left' : 'creates parts as the client reads them'
  test(title, async (t) => {
    const app = await startApp()
    let created = 0
    async function* parts() {
      for (; created < 50; created++) yield 'x'.repeat(1_000_000)
    }
    app.router.add('GET', '/large', (exchange) => sendParts(exchange, parts()))
    const { client, server } = await dial(t, app.listener.server)
    client.write('GET /large HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n')
    await eventually(() => server.writableLength > 0)
    assert.ok(created < 50)
    assert.deepEqual(endedAnswers(app), [])
    let characters = 0
    client.on('data', (text) => {
      characters += text.length
    })
    if (isLeaving) client.destroy()
    else await once(client, 'end')
    await eventually(() => endedAnswers(app).length === 1)
    if (isLeaving) assert.deepEqual([endedAnswers(app), created < 50], [[true], true])
    else assert.deepEqual([endedAnswers(app), characters > 50_000_000], [[undefined], true])
  })
}

test('responds with the error of the first part, and closes the connection after an error of a later part', async (t) => {
  const app = await startApp()
  async function* parts(good: number) {
    for (let n = 0; n < good; n++) yield 'part'
    throw notFound('part')
  }
  app.router.add('GET', '/none', (exchange) => sendParts(exchange, parts(0)))
  app.router.add('GET', '/large', (exchange) => sendParts(exchange, parts(1)))
  assert.equal((await app.send('GET', '/none')).status, 404)
  const { client } = await dial(t, app.listener.server)
  client.write('GET /large HTTP/1.1\r\nHost: here\r\n\r\n')
  client.resume()
  await once(client, 'close')
  await eventually(async () => endedAnswers(app).length === 1)
  assert.deepEqual(endedAnswers(app), [true])
  assert.equal((await app.send('HEAD', '/large')).status, 200)
})

test('sends responses to a slow client, and logs them when it has read them', async (t) => {
  const app = await startApp()
  const { client, server } = await slowReader(t, app)
  assert.ok(endedAnswers(app).length < 12)
  client.resume()
  await eventually(async () => endedAnswers(app).length === 12)
  assert.deepEqual(new Set(endedAnswers(app)), new Set([undefined]))
  assert.equal(server.destroyed, false)
})

test('closes the connection of a client that does not read for 75 seconds, and logs its responses as aborted', async (t) => {
  const app = await startApp()
  const { server } = await slowReader(t, app)
  assert.equal(server.timeout, 75_000)
  server.setTimeout(1)
  await once(server, 'close')
  await eventually(async () => endedAnswers(app).includes(true))
  await eventually(async () => app.measured.counts.underWay === 0)
})

function post({ key }: TestApp, body: string, length = body.length): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json`
  return `${head}\r\nContent-Length: ${length}\r\n\r\n${body}`
}

test('logs responses to a closed connection as aborted, each once', async (t) => {
  const app = await startApp()
  const count = 100
  for (let n = 0; n < count; n++) {
    const { client } = await dial(t, app.listener.server)
    // A refusal is sent before the server looks at the connection again.
    client.write(`GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`, () => client.resetAndDestroy())
  }
  const ended = () => app.logs.filter(({ status }) => status === 401)
  // A busy server sees the resets of some clients before their requests.
  await eventually(async () => ended().length > count / 2 && app.measured.counts.underWay === 0)
  const all = ended()
  assert.equal(new Set(all.map(({ request_id }) => request_id)).size, all.length)
  const aborted = all.filter(({ aborted }) => aborted === true)
  assert.ok(aborted.length > all.length / 2, `${aborted.length} of ${all.length} count as aborted`)
})

for (const [what, length] of [
  ['in the middle of', 100],
  ['behind', undefined],
] as const) {
  test(`logs a request as aborted if its client leaves ${what} its body while its key is looked up`, async (t) => {
    const { promise: release, resolve: letGo } = Promise.withResolvers<void>()
    let isSlow = false
    let lookUps = 0
    const slow = (real: Storage) =>
      withMethods(real, {
        execute: async (query) => {
          if (isSlow && query.compile().sql.includes('from "keys"')) {
            lookUps += 1
            await release
          }
          return real.execute(query)
        },
      })
    const app = await startApp({ storage: slow })
    t.after(() => letGo())
    isSlow = true
    const { client, server } = await dial(t, app.listener.server)
    client.write(post(app, '{"name":"left.example.com"}', length))
    await eventually(async () => lookUps === 1)
    const left = new Promise((resolve) => server.once('close', resolve))
    client.resetAndDestroy()
    await left
    letGo()
    await eventually(async () => app.logs.some(({ method, aborted }) => method === 'POST' && aborted === true))
    assert.equal(app.measured.counts.underWay, 0)
  })
}

test('replaces slashes and spaces of a name by hyphens, and adds an encoded form of any other name', () => {
  assert.equal(formatDisposition('inline', 'link-1.svg'), 'inline; filename="link-1.svg"')
  assert.equal(formatDisposition('attachment', 'a/b c.png'), 'attachment; filename="a-b-c.png"')
  assert.equal(
    formatDisposition('attachment', 'été\u202e".svg'),
    `attachment; filename="-t---.svg"; filename*=UTF-8''%C3%A9t%C3%A9-%22.svg`,
  )
})

test('prevents a name from adding to the header', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1 }), (name) => {
      const [, plain, encoded] =
        /^inline; filename="([\w.~-]+)"(?:; filename\*=UTF-8''([\w.~%-]+))?$/.exec(formatDisposition('inline', name)) ??
        []
      assert.ok(plain !== undefined)
      assert.doesNotMatch(decodeURIComponent(encoded ?? ''), /[/\\\p{C}]/u)
    }),
  )
})
