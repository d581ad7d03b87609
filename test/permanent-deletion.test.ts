/** Permanently deleted data is nowhere in the database, with the exceptions in docs/privacy.md. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sql } from 'kysely'
import { systemActor } from '../src/access/actor.ts'
import { expireEvents } from '../src/events/retention.ts'
import { eraseFromResponses } from '../src/idempotency/store.ts'
import { findJob } from '../src/jobs/store.ts'
import { forgetMember } from '../src/members/forgetting.ts'
import { joinAccount } from '../src/members/invitations.ts'
import { insertPerson } from '../src/members/store.ts'
import { clickLevels, query } from '../src/storage/schema.ts'
import { backUp } from '../src/storage/sqlite/backup.ts'
import { actionsOn } from './actions.ts'
import { startApp, type TestApp } from './app.ts'
import type { Json } from './client.ts'
import { addClicks, manyPeople } from './days.ts'
import { executeAt } from './engine.ts'
import { withMethods } from './failing-storage.ts'
import { applyImport, planFile, rowsOf } from './imports.ts'
import { finishJobs, retentionJob } from './jobs.ts'
import { fresh, newPlace, type Place } from './links-api.ts'

const engines = ['sqlite', 'postgres'] as const
const sqlite = await startApp({ engine: 'sqlite' })
const postgres = await startApp({ engine: 'postgres' })
const apps = { sqlite, postgres }

/** Returns everything in the database: the bytes of its files and of a new backup on SQLite, the rows of all tables on PostgreSQL. */
async function contentOf({ storage }: TestApp): Promise<Buffer> {
  const { location } = storage
  if (location.engine === 'sqlite') {
    const files = ['', '-wal', '-shm'].map((suffix) => readFileSync(location.path + suffix))
    const backup = `${location.path}.backup`
    await backUp(location.path, backup, { mayReplace: true, onProgress: () => undefined })
    return Buffer.concat([...files, readFileSync(backup)])
  }
  const names = sql<{ name: string }>`select tablename as name from pg_tables where schemaname = current_schema()`
  const text: string[] = []
  for (const { name } of await rows<{ name: string }>(postgres, names)) {
    const all = await rows<{ row: string }>(postgres, sql`select t::text as row from ${sql.table(name)} t`)
    text.push(...all.map(({ row }) => row))
  }
  // Quotes are doubled in a row's text.
  return Buffer.from(text.join('\n').replaceAll('""', '"'))
}

async function rows<Row>({ storage }: TestApp, statement: ReturnType<typeof sql<Row>>): Promise<Row[]> {
  const all = query.selectFrom(sql<Row>`(${statement})`.as('all')).selectAll()
  return (await storage.execute(all as never)) as Row[]
}

async function newLinks(app: TestApp) {
  const place = await newPlace(app)
  const words = ['first', 'second', 'title', 'notes', 'bulk', 'rule']
  const secrets = words.map((word) => fresh(`Secret-${word}-`.repeat(3))) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const [first, second, title, notes, bulk, rule] = secrets
  const once = (json: object) => ({ json, headers: { 'idempotency-key': fresh('once') } })
  const rules = [{ name: 'A', url: `https://acme.com/${rule}` }]
  const fields = { title, notes, rules, redirect_password: 'correct horse', tags: ['Sale'] }
  const request = once({ url: `https://acme.com/${first}`, alias: fresh('gone'), ...fields })
  const link: Json = (await place.send('POST', '/links', request)).body.data
  const alias = fresh('Secret-address-'.repeat(3))
  assert.equal((await place.send('POST', `/links/${link.id}/addresses`, once({ alias }))).status, 201)
  const bulkRequest = once({ links: [{ url: `https://acme.com/${bulk}`, title }, { url: 'https://acme.com/kept' }] })
  const made = (await place.send('POST', '/links/bulk', bulkRequest)).body.data
  await place.send('PATCH', `/links/${link.id}`, {
    json: { url: `https://acme.com/${second}`, rules: [], redirect_password: '' },
  })
  return {
    place,
    link,
    request,
    bulkRequest,
    bulkLinks: made.map(({ data }: Json) => data) as Json[],
    secrets: [...secrets, alias],
  }
}

/** Clicks on a link, and returns its stored day. */
async function clickedDay(app: TestApp, { id, short_url }: Json): Promise<string> {
  const { status } = await app.visit(short_url, { headers: { referer: `https://${fresh('referrer')}.example/` } })
  assert.equal(status, 302)
  // The deletion of any link waits for the clicks.
  const other = await newPlace(app)
  await other.send('DELETE', `/links/${(await other.link()).id}`)
  const days = query.selectFrom('click_days').select('breakdowns').where('scope', '=', clickLevels.link)
  const [day] = await app.storage.execute(days.where('id', '=', id))
  assert.ok(day, 'the day is stored')
  return day.breakdowns
}

function assertWithout(content: Buffer, secrets: readonly string[]): void {
  for (const secret of secrets) {
    const at = content.indexOf(secret)
    assert.equal(at, -1, `${secret} at ${at}: ${content.subarray(Math.max(0, at - 200), at + 200).toString('latin1')}`)
  }
}

/** Imports a link whose values are secrets, next to another link. */
async function importedLink(place: Place) {
  const [url, title, notes] = ['url', 'title', 'notes'].map((word) => fresh(`Secret-imported-${word}-`)) as [
    string,
    string,
    string,
  ]
  const [alias, further] = [fresh('imported'), fresh('Secret-further-address-')]
  const file = `url,alias,title,notes
https://acme.com/${url},${alias},${title},${notes}
https://acme.com/kept,${fresh('kept')},Kept,
`
  const plan = await planFile(place, file, { domain_map: `*=${place.domain.name}` })
  await applyImport(place, plan)
  const [row] = await rowsOf(place, plan.id)
  await place.send('POST', `/links/${row.link_id}/addresses`, { json: { alias: further } })
  return { plan, id: row.link_id as number, secrets: [url, title, notes, further] }
}

for (const engine of engines) {
  test(`${engine} stores nothing of an imported link that was deleted permanently but the outcome of its row`, async () => {
    const app = apps[engine]
    const place = await newPlace(app)
    const { plan, id, secrets } = await importedLink(place)
    const before = await rowsOf(place, plan.id)
    const figures = async () => (await place.send('GET', `/imports/${plan.id}`)).body.data
    const all = await figures()
    await place.send('DELETE', `/links/${id}?permanently=true`)
    assertWithout(await contentOf(app), secrets)
    const [erased, ...others] = await rowsOf(place, plan.id)
    assert.deepEqual(erased, { ...before[0], url: null })
    assert.deepEqual(others, before.slice(1))
    assert.deepEqual(await figures(), all, 'with the figures of the proof')
    const other = await importedLink(place)
    await place.send('DELETE', `/domains/${place.domain.id}?links=delete&permanently=true`)
    assertWithout(await contentOf(app), other.secrets)
  })

  test(`${engine} erases everything at the next start if the process has ended before`, async () => {
    const app = apps[engine]
    const { place, link, request, bulkRequest, bulkLinks, secrets } = await newLinks(app)
    const [keyword, visitor] = [fresh('keyword'), fresh('secret-visitor-')]
    const day = '2025-03-09 07:15:00'
    const file = `INSERT INTO yourls_url (keyword,url,title,timestamp,ip,clicks) VALUES ('${keyword}','https://acme.com/${visitor}','','${day}','',1);
INSERT INTO yourls_log (click_time,shorturl,referrer,user_agent,ip_address,country_code) VALUES ('${day}','${keyword}','https://${visitor}.example','','','');`
    const to = { domain_map: `*=${place.domain.name}`, time_zone: 'UTC' }
    const plan = await planFile(place, file, to, 'application/sql')
    await applyImport(place, plan)
    const [{ link_id: imported }] = await rowsOf(place, plan.id)
    await planFile(place, `url,alias,title\nhttps://acme.com/new,${keyword},New\n`, { ...to, conflict: 'update' })
    const texts = async () => {
      const columns = sql`coalesce(cast(content as text), '') || coalesce(decision, '')`
      const responses = sql`select body as text from stored_responses where account_id = ${place.account}`
      const own = sql`select ${columns} as text from import_rows where link_id = ${imported}`
      const days = sql`select cast(breakdowns as text) as text from import_days where import_id = ${plan.id}`
      const all = [await rows(app, responses), await rows(app, own), await rows(app, days)]
      return all.map((some) => JSON.stringify(some))
    }
    const { actions, jobs } = actionsOn(app.storage)
    // The process ends before the steps after a deletion.
    await jobs.close()
    const actor = systemActor(place.account)
    for (const id of [link.id, imported]) await actions.links.remove(actor, id, { permanently: 'true' }, null)
    const undo = await place.send('POST', '/events/undo', { json: { record: 'link', record_id: link.id } })
    assert.ok(undo.status >= 400, undo.text)
    const has = async (word: string) => (await texts()).map((text) => text.includes(word))
    assert.deepEqual(
      [await has(secrets[0] as string), await has(visitor)],
      [
        [true, false, false],
        [false, true, true],
      ],
    )
    const finish = () => finishJobs(app.storage)
    await finish()
    // The other link of the bulk request has the same title.
    const gone = [...secrets.filter((_, at) => at !== 2 && at !== 4), visitor]
    for (const word of gone) assert.deepEqual(await has(word), [false, false, false], word)
    assert.equal((await place.send('POST', '/links', request)).body.code, 'idempotency_key_reused')
    assert.deepEqual((await place.send('POST', '/links/bulk', bulkRequest)).body.data[0].data, bulkLinks[0])
    await actions.domains.remove(actor, place.domain.id, { links: 'delete', permanently: 'true' }, null)
    await finish()
    assert.deepEqual(await has(secrets[4] as string), [false, false, false], 'a link of a domain')
  })

  test(`${engine} counts clicks on links that are gone for good under null`, async () => {
    const app = apps[engine]
    const place = await newPlace(app)
    const links = [await place.link(), await place.link(), await place.link()]
    const today = Math.floor(Date.now() / 86_400_000)
    for (const [n, link] of links.entries())
      await addClicks(app.storage, link.id, today, manyPeople(n + 1, 'countries', 'DE'))
    const shown = async () => {
      const { data, meta } = (await place.send('GET', '/stats?name=links&sort_by=value&sort=asc')).body
      assert.equal(meta.clicks, 6)
      assert.equal((await place.send('GET', `/stats?name=clicks&domain_id=${place.domain.id}`)).body.meta.clicks, 6)
      return data.map(({ value, clicks }: Json) => [value, clicks])
    }
    const [first, second, third] = links.map(({ id }) => id)
    const all = [
      [first, 1],
      [second, 2],
      [third, 3],
    ]
    await place.send('DELETE', `/links/${second}`)
    assert.deepEqual(await shown(), all, 'restorable')
    await place.send('DELETE', `/links/${third}?permanently=true`)
    assert.deepEqual(await shown(), [...all.slice(0, 2), [null, 3]], 'deleted permanently')
    const later = Date.now() + 31 * 86_400_000
    await expireEvents(app.storage, await retentionJob(app.storage, later), 400)
    assert.deepEqual(await shown(), [
      [first, 1],
      [null, 5],
    ])
  })

  test(`${engine} stores neither name nor email address of a forgotten member`, async () => {
    const app = apps[engine]
    const place = await newPlace(app)
    const [name, invited] = [fresh('Forgotten-name-'), fresh('Invited-name-')]
    const email = `${fresh('forgotten')}@acme.com`
    const once = (json: object) => ({ json, headers: { 'idempotency-key': fresh('once') } })
    const request = once({ role: 'editor', name: invited, email })
    const invitation = (await place.send('POST', '/invitations', request)).body.data
    const other = once({ role: 'editor', name: 'Kept' })
    const kept = (await place.send('POST', '/invitations', other)).body.data
    const [, token = ''] = String(invitation.url).split('#')
    const person = await insertPerson(app.storage, null)
    const { id } = await app.storage.write((tx) => joinAccount(tx, { token, person, name }, null))
    assert.equal((await place.send('DELETE', `/members/${id}`)).status, 204)
    assert.ok((await contentOf(app)).includes(email))
    // A process that dies before it overwrites the deleted values.
    const unreadable = { engine: 'sqlite', path: `${import.meta.dirname}/none/waymark.db` } as const
    const dying = withMethods(app.storage, { location: unreadable })
    await assert.rejects(forgetMember(dying, actionsOn(dying).jobs, place.account, id))
    assert.equal((await findJob(app.storage, { record: 'member', record_id: id }))?.state, 'failed')
    await forgetMember(app.storage, actionsOn(app.storage).jobs, place.account, id)
    assertWithout(await contentOf(app), [name, invited, email])
    assert.equal((await place.send('POST', '/invitations', request)).body.code, 'idempotency_key_reused')
    const { url: _, ...shown } = kept
    assert.deepEqual((await place.send('POST', '/invitations', other)).body.data, shown)
  })

  test(`${engine} stores nothing of a link that was deleted permanently`, async () => {
    const app = apps[engine]
    const { place, link, bulkLinks, request, bulkRequest, secrets } = await newLinks(app)
    const [bulkLink, kept] = bulkLinks as [Json, Json]
    await clickedDay(app, kept)
    secrets.push(await clickedDay(app, link))
    const before = await contentOf(app)
    for (const secret of secrets) assert.ok(before.includes(secret), `${secret} is stored`)
    for (const { id } of [link, bulkLink]) {
      assert.equal((await place.send('DELETE', `/links/${id}?permanently=true`)).status, 204)
    }
    assertWithout(await contentOf(app), secrets)
    const repeated = [await place.send('POST', '/links', request), await place.send('POST', '/links/bulk', bulkRequest)]
    const [one, several] = repeated.map(({ body }) => body)
    assert.equal(one.code, 'idempotency_key_reused')
    assert.deepEqual(several.data, [
      { index: 0, status: 201 },
      { index: 1, status: 201, data: kept },
    ])
  })

  test(`${engine} stores nothing of a domain and its links that were deleted permanently`, async () => {
    const app = apps[engine]
    const { place, link, secrets } = await newLinks(app)
    secrets.push(await clickedDay(app, link))
    const homepage = fresh('Secret-homepage-')
    secrets.push(homepage)
    await place.send('PATCH', `/domains/${place.domain.id}`, { json: { homepage_url: `https://acme.com/${homepage}` } })
    const { status } = await place.send('DELETE', `/domains/${place.domain.id}?links=delete&permanently=true`)
    assert.equal(status, 204)
    assertWithout(await contentOf(app), secrets)
    const { body } = await place.send('GET', '/events?per_page=100')
    const own = body.data.filter(({ record }: Json) => record === 'link' || record === 'domain')
    assert.ok(own.every(({ changes }: Json) => changes === null))
  })

  test(`${engine} stores no response with a link that a command deleted permanently`, async () => {
    const { storage } = apps[engine]
    const { place, link, request } = await newLinks(apps[engine])
    const { actions } = actionsOn(storage)
    await actions.links.remove(systemActor(place.account), link.id, { permanently: 'true' }, null)
    assert.equal((await place.send('POST', '/links', request)).body.code, 'idempotency_key_reused')
  })

  test(`${engine} keeps stored responses with other kinds of records that have the same id`, async () => {
    const { storage } = apps[engine]
    const { place, link, bulkLinks, request, bulkRequest } = await newLinks(apps[engine])
    for (const { id } of [link, ...bulkLinks]) {
      for (const kind of ['space', 'tag', 'domain'] as const) await eraseFromResponses(storage, place.account, kind, id)
    }
    const spaceRequest = { json: { name: 'Kept' }, headers: { 'idempotency-key': fresh('once') } }
    const space = (await place.send('POST', '/spaces', spaceRequest)).body.data
    await eraseFromResponses(storage, place.account, 'link', space.id)
    assert.deepEqual((await place.send('POST', '/spaces', spaceRequest)).body.data, space)
    assert.deepEqual((await place.send('POST', '/links', request)).body.data, link)
    const { body } = await place.send('POST', '/links/bulk', bulkRequest)
    assert.deepEqual(
      body.data.map(({ data }: Json) => data),
      bulkLinks,
    )
  })

  for (const kind of ['spaces', 'tags'] as const) {
    test(`${engine} stores of ${kind} that were deleted permanently only their names in the history`, async () => {
      const app = apps[engine]
      const place = await newPlace(app)
      const name = fresh('Secret-name-of-a-group-')
      const request = { json: { name }, headers: { 'idempotency-key': fresh('once') } }
      const group = (await place.send('POST', `/${kind}`, request)).body.data
      await place.send('DELETE', `/${kind}/${group.id}?permanently=true`)
      const events = query.selectFrom('events').select(['changes', 'kept', 'record_name'])
      const own = await app.storage.execute(
        events
          .where('account_id', '=', place.account)
          .where('record_id', '=', group.id)
          .where('record', '=', kind === 'tags' ? 'tag' : 'space'),
      )
      assert.deepEqual(own, Array(2).fill({ changes: null, kept: null, record_name: name }))
      assert.deepEqual((await place.send('POST', `/${kind}`, request)).body.code, 'idempotency_key_reused')
      const rest = query.updateTable('events').set({ record_name: '' }).where('account_id', '=', place.account)
      await app.storage.execute(rest)
      if (engine === 'sqlite') await executeAt(app.storage.location, 'pragma wal_checkpoint(truncate)')
      assertWithout(await contentOf(app), [name])
    })
  }
}
