/** A start behind poolers. `test/pgbouncer.test.ts` has tests with PgBouncer itself. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { listenOn } from '../../../test/servers.ts'
import { waymark } from '../../../test/waymark.ts'
import { sharedConnections } from './errors.ts'
import { openPostgres } from './open.ts'

/** A connection to the server, and the client that uses it. */
interface Upstream {
  readonly socket: Socket
  client: Socket | undefined
}

/**
 * Starts a pooler in transaction mode without support for prepared statements. Each client adds a connection to the
 * server. Later, `take` removes a connection from the free ones for each transaction. Returns the pooler's URL.
 */
async function startPooler(t: TestContext, url: string, take: (free: Upstream[], own: Upstream) => Upstream) {
  const { hostname, port } = new URL(url)
  const free: Upstream[] = []
  const server = createServer((client) => {
    const own: Upstream = { socket: connect(Number(port), hostname), client }
    let used: Upstream | undefined = own
    client.on('data', (bytes) => {
      used ??= take(free, own)
      used.client = client
      used.socket.write(bytes)
    })
    client.on('release', () => {
      free.push(used as Upstream)
      used = undefined
    })
    client.on('close', () => own.socket.destroy()).on('error', () => undefined)
    own.socket
      .on('error', () => undefined)
      .on('close', () => {
        client.destroy()
        if (free.includes(own)) free.splice(free.indexOf(own), 1)
      })
    onMessage(own.socket, (message) => {
      const user = own.client
      // The pooler has its own ids for the cancellation of queries.
      if (isOfType(message, 'K')) message.writeUInt32BE(0, 5)
      user?.write(message)
      if (isOfType(message, 'Z') && message.at(5) === 'I'.charCodeAt(0)) user?.emit('release')
    })
  })
  return Object.assign(new URL(url), { host: `127.0.0.1:${await listenOn(t, server)}` }).href
}

/** Calls `read` with each message of the server: a type, and the length without it. */
function onMessage(socket: Socket, read: (message: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length > 5 && rest.length > rest.readUInt32BE(1)) {
      const length = rest.readUInt32BE(1) + 1
      read(Buffer.from(rest.subarray(0, length)))
      rest = rest.subarray(length)
    }
  })
}

function isOfType(message: Buffer, type: string): boolean {
  return message[0] === type.charCodeAt(0)
}

const mixing: Readonly<Record<string, (free: Upstream[]) => Upstream>> = {
  latest: (free) => free.pop() as Upstream,
  oldest: (free) => free.shift() as Upstream,
}
for (const [preferred, take] of Object.entries(mixing)) {
  test(`rejects a pooler that mixes up statements and prefers its ${preferred} free connection`, async (t) => {
    const { url, drop } = await newDatabase(false)
    t.after(drop)
    const pooled = await startPooler(t, url, take)
    await assert.rejects(openPostgres(pooled, 1), { message: sharedConnections })
    assert.deepEqual(await execute(url, `select to_regclass('links') as found`), [{ found: null }])
    await (await openPostgres(url, 1)).close()
    const { code, stderr } = await waymark(t, ['keys', 'create', '--name', 'a'], { DATABASE_URL: pooled })
    assert.deepEqual([code, stderr], [1, `${sharedConnections}\n`])
  })
}

test('opens through a pooler that keeps the connection of each client', async (t) => {
  const { url, drop } = await newDatabase(false)
  t.after(drop)
  const pooled = await startPooler(t, url, (free, own) => {
    free.splice(free.indexOf(own), 1)
    return own
  })
  await (await openPostgres(pooled, 1)).close()
  assert.deepEqual(await execute(url, `select to_regclass('links')::text as found`), [{ found: 'links' }])
})
