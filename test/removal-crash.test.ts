/** A server that is killed while it removes a domain or a space with many links: the next one ends it. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { Json } from './client.ts'
import { newDatabase as newPostgres } from './postgres-database.ts'
import { eventually, newDatabase, startServer, type Variables } from './processes.ts'

/** Enough that the test sees the server at work before it is done. */
const count = 20_000

/** What the test itself asks of the database, beside the server. */
interface Eye {
  readonly variables: Variables
  ask(text: string): Promise<Record<string, unknown>[]>
}

const engines: Readonly<Record<string, (t: TestContext) => Promise<Eye>>> = {
  sqlite: async (t) => {
    const { path, variables } = newDatabase(t)
    const ask = async (text: string) => {
      const database = new DatabaseSync(path, { timeout: 10_000 })
      try {
        return database.prepare(text).all()
      } finally {
        database.close()
      }
    }
    return { variables, ask }
  },
  postgres: async (t) => {
    const { url, drop } = await newPostgres(false)
    t.after(drop)
    const ask = async (text: string) => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    }
    return { variables: { DATABASE_URL: url }, ask }
  },
}

/** Some at a time: PostgreSQL takes quadratic time to count many in one transaction. */
const fillAtOnce = 1_000

const fill = (domain: number, space: number, from: number) => `
  insert into links (account_id, domain_id, space_id, alias, alias_folded, url, disabled, forward_query, redirect_status,
      status, created_at, updated_at)
    with recursive numbers (n) as (select ${from} union all select n + 1 from numbers where n + 1 < ${from + fillAtOnce})
    select 1, ${domain}, ${space}, 'n' || n, 'n' || n, 'https://acme.com', 0, 0, 302, 'active',
      '2026-11-20T12:00:00.000Z', '2026-11-20T12:00:00.000Z' from numbers`

for (const [engine, newEye] of Object.entries(engines)) {
  for (const resource of ['domains', 'spaces'] as const) {
    test(`a removal of one of the ${resource} that a SIGKILL cuts off is ended by the next start: ${engine}`, async (t) => {
      const { variables, ask } = await newEye(t)
      const start = () => startServer(t, { ...variables, RATE_LIMIT: '0', LOG_LEVEL: 'warn' })
      const numberOf = async (condition: string) =>
        Number((await ask(`select count(*) as number from links where ${condition}`))[0]?.number)
      let server = await start()
      const { key } = server
      const send = async (method: string, path: string, json?: Json) =>
        await server.send(method, `/api/v1/${path}`, { key, ...(json && { json }) })
      const domain = (await send('POST', 'domains', { name: 'go.example.com' })).body.data
      const space = (await send('POST', 'spaces', { name: 'Many' })).body.data
      for (let from = 0; from < count; from += fillAtOnce) await ask(fill(domain.id, space.id, from))
      const isDomain = resource === 'domains'
      const record = `${resource}/${isDomain ? domain.id : space.id}`
      const isLeft = isDomain ? `domain_id = ${domain.id}` : `space_id = ${space.id}`

      const cut = send('DELETE', `${record}${isDomain ? '?links=delete' : ''}`).then(
        ({ status }) => status,
        () => 'cut',
      )
      await eventually(async () => (await numberOf(isLeft)) < count - 200)
      assert.equal((await server.end('SIGKILL')).signal, 'SIGKILL')
      assert.equal(await cut, 'cut')
      const left = await numberOf(isLeft)
      assert.ok(left > 0, 'it was killed in the middle')
      t.diagnostic(`killed with ${left} of ${count} links left`)

      server = await start()
      assert.equal((await send('GET', record)).status, 404)
      if (isDomain) assert.equal((await send('POST', 'domains', { name: 'go.example.com' })).status, 201)
      const removed = `select id from ${resource} where account_id = 0`
      await eventually(async () => (await ask(removed)).length === 0, 60_000)
      assert.equal(await numberOf(isLeft), 0)
      const { data, meta } = (await send('GET', 'links?per_page=100')).body
      assert.deepEqual([meta.total, data.length], isDomain ? [0, 0] : [count, 100])
      assert.ok(
        data.every(({ space_id, updated_at, created_at }: Json) => space_id === null && updated_at > created_at),
      )
      assert.equal((await server.end('SIGTERM')).code, 0)
    })
  }
}
