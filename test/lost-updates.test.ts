/** Concurrent conditional changes of one record through two processes. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, type TestContext, test } from 'node:test'
import { type Answer, type Json, sendRequest } from './client.ts'
import { type RunningServer, startServer } from './processes.ts'
import { runs } from './runs.ts'
import { databaseOn } from './visited-server.ts'

const clients = runs(50, 12)

/** Each record has a count in one of its fields. */
const counters = {
  domains: {
    engine: 'sqlite',
    written: (n: number) => ({ homepage_url: `https://acme.com/${n}` }),
    read: (data: Json) => Number(data.homepage_url.split('/').at(-1)),
  },
  spaces: {
    engine: 'postgres',
    written: (n: number) => ({ name: String(n) }),
    read: (data: Json) => Number(data.name),
  },
} as const

interface Counter {
  readonly count: number
  readonly etag: string
}

/** A client with its own connection to one of the servers. */
class Client {
  readonly #port: number
  readonly #key: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(t: TestContext, { port }: RunningServer, key: string) {
    this.#port = port
    this.#key = key
    t.after(() => this.#agent.destroy())
  }

  async send(method: string, path: string, etag?: string, form?: Record<string, string>): Promise<Answer> {
    for (;;) {
      const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': etag }
      const request = { key: this.#key, headers, ...(form && { form }) }
      const answer = await sendRequest({ agent: this.#agent, port: this.#port, method, path }, request)
      if (answer.body?.code !== 'overloaded') return answer
    }
  }
}

/** Starts two servers on one database. Returns a function that creates clients, each of the other server. */
async function servers(engine: 'sqlite' | 'postgres'): Promise<(t: TestContext) => Client> {
  const quiet = { ...(await databaseOn({ after }, engine)), RATE_LIMIT: '0', LOG_LEVEL: 'warn' }
  const both = [await startServer({ after }, quiet), await startServer({ after }, quiet)] as const
  let made = 0
  return (t) => {
    made += 1
    return new Client(t, both[made % 2] as RunningServer, both[0].key)
  }
}

// Before the first test, because hooks run when a file has no test left.
const clientsOf = { sqlite: await servers('sqlite'), postgres: await servers('postgres') }

for (const [resource, { engine, written, read }] of Object.entries(counters)) {
  /** Returns the count and the entity tag; undefined if the record was deleted. */
  const look = async (client: Client, path: string): Promise<Counter | undefined> => {
    const { status, headers, body } = await client.send('GET', path)
    if (status === 404) return undefined
    return { count: read(body.data), etag: String(headers.etag) }
  }

  /** Adds one to the count, with retries. Returns false if the record was deleted. */
  const increment = async (client: Client, path: string, stale: string[] = []): Promise<boolean> => {
    for (;;) {
      const present = await look(client, path)
      if (present === undefined) return false
      const { status } = await client.send('PATCH', path, present.etag, written(present.count + 1))
      if (status === 200) return true
      if (status === 404) return false
      assert.equal(status, 412)
      stale.push(present.etag)
    }
  }

  const store = async (client: Client): Promise<string> => {
    const form = { name: `counter${Math.random().toString(36)}.example.com`, ...written(0) }
    const { status, body } = await client.send('POST', `/api/v1/${resource}`, undefined, form)
    assert.equal(status, 201)
    return `/api/v1/${resource}/${body.data.id}`
  }

  test(`loses no update of ${clients} clients that change one of the ${resource} with If-Match on ${engine}`, async (t) => {
    const client = () => clientsOf[engine](t)
    const path = await store(client())
    const stale: string[] = []
    const done = await Promise.all(Array.from({ length: clients }, () => increment(client(), path, stale)))
    assert.deepEqual(new Set(done), new Set([true]))
    assert.equal((await look(client(), path))?.count, clients)
    t.diagnostic(`${stale.length} updates were rejected with 412 and repeated`)
    assert.ok(stale.length > 0, 'no update conflicted with another')
  })

  test(`deletes one of the ${resource} with If-Match only in the state that the client read, on ${engine}`, async (t) => {
    const client = () => clientsOf[engine](t)
    const path = await store(client())
    let counted = 0
    const count = async (own: Client) => {
      while (await increment(own, path)) counted += 1
    }
    const remove = async (own: Client): Promise<number> => {
      for (;;) {
        const present = await look(own, path)
        assert.ok(present !== undefined)
        if (present.count < clients) continue
        const { status } = await own.send('DELETE', path, present.etag)
        if (status === 204) return present.count
        assert.equal(status, 412)
      }
    }
    const [seen] = await Promise.all([remove(client()), ...Array.from({ length: clients }, () => count(client()))])
    assert.equal(counted, seen, 'the deleted state has all acknowledged updates')
    assert.equal((await client().send('GET', path)).status, 404)
  })
}
