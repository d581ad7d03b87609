/** Names in the history: they stay after a member was removed, until the member is forgotten. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../src/access/actor.ts'
import { changeMember } from '../src/members/changes.ts'
import { insertLoginToken } from '../src/sessions/store.ts'
import { startApp, type TestApp } from './app.ts'
import type { Json } from './client.ts'
import { commandsWith } from './command-line.ts'
import { Browser, signedInMember } from './dashboard.ts'
import { newMember } from './members.ts'
import { queryAt } from './visited-server.ts'

/** Returns the tables in whose rows a word appears, in any spelling. */
async function tablesWith(app: TestApp, word: string): Promise<string[]> {
  const { location } = app.storage
  const isSqlite = location.engine === 'sqlite'
  const variables = { DATABASE_URL: isSqlite ? `sqlite:${location.path}` : location.url }
  const names = isSqlite
    ? `select name from sqlite_schema where type = 'table' and name not like '%\\_search%' escape '\\' and name not like '%terms'`
    : `select tablename as name from pg_tables where schemaname = 'public'`
  const found: string[] = []
  for (const { name } of await queryAt(variables, names)) {
    const rows = await queryAt(variables, `select * from "${name}"`)
    const text = rows
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? '' : String(value)))
    if (text.some((each) => each.toLowerCase().includes(word))) found.push(String(name))
  }
  return found.sort()
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`the history names whoever made a change, until they are forgotten: ${engine}`, async () => {
    const app = await startApp({ engine })
    const events = async (query: string) =>
      (await app.send('GET', `/api/v1/events?sort=asc&per_page=100&${query}`)).body.data.map(
        ({ type, actor }: Json) => [type, actor] as const,
      )
    const [first, word] = ['Canary Ána', 'canary']
    const member = await newMember(app.storage, app.account, { name: first, email: 'canary@example.com' })
    const other = await newMember(app.storage, app.account, { name: 'Ben' })
    const stranger = await newMember(app.storage, await app.createAccount(), { name: 'Stranger' })
    const own = new Browser(app)
    await own.post('/app/sign-in', { token: await insertLoginToken(app.storage, member) })
    const actor = { kind: 'member', id: member.id, name: first }
    const named = (id: number) => `actor=member&actor_id=${id}`

    await own.post('/app/spaces', { name: 'Summer' })
    const { page } = await own.post('/app/keys', { name: 'CI', expires: 'never', '*': 'true' })
    const [key = ''] = /wm_\w{49}/.exec(page.text) ?? []
    await own.post('/app/people', { role: 'viewer', name: 'Guest' })
    assert.deepEqual(await events(named(member.id)), [
      ['member.joined', actor],
      ['space.created', actor],
      ['key.created', actor],
      ['invitation.created', actor],
    ])
    // Earlier events keep the name of their time.
    await own.save('/app/profile', { name: 'Canary Two' })
    await own.post('/app/spaces', { name: 'Winter' })
    const names = (await events(named(member.id))).map(([, { name }]: Json) => name)
    assert.deepEqual(names, [first, first, first, first, first, 'Canary Two'])
    assert.deepEqual(await events(named(stranger.id)), [])
    assert.deepEqual(await events(`actor=key&actor_id=${member.id}`), [])
    // The key acts by its own name, and leads to the member while they are here.
    await app.send('POST', '/api/v1/spaces', { key, json: { name: 'Autumn' } })
    const { member: creator } = (await app.send('GET', '/api/v1/me', { key })).body.data
    assert.deepEqual(creator, { id: member.id, name: 'Canary Two', role: 'owner' })
    assert.equal((await events('type=space.created')).at(-1)?.[1].kind, 'key')
    await changeMember(app.storage, systemActor(app.account), member.id, { role: 'viewer' })

    const ben = await signedInMember(app, { name: 'Cleo' })
    assert.equal((await ben.post(`/app/people/${member.id}/remove`, { keep_keys: 'true' })).status, 303)
    assert.ok((await events(named(member.id))).some(([, { name }]: Json) => name === 'Canary Two'))
    assert.ok((await tablesWith(app, word)).includes('keys'))

    const { location } = app.storage
    const DATABASE_URL = location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url
    await commandsWith({ DATABASE_URL }).say(`members forget ${member.id} --account ${app.account}`)
    assert.deepEqual(await tablesWith(app, word), [])
    const all = await events('')
    assert.ok(
      all.some(([, { name }]: Json) => name === 'Removed member') && all.some(([, { id }]: Json) => id === other.id),
    )
    for (const path of ['/app/history', '/app/people', '/app/keys', '/app/spaces']) {
      const { text, status } = await ben.get(path)
      assert.ok(status === 200 && !text.toLowerCase().includes(word), path)
    }
  })
}
