/** Deletions and their undo survive a SIGKILL, and two nodes that undo the same changes undo each of them once. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Answer, Json, Request } from '../client.ts'
import { listAll, readEvents, readRecords, replay } from '../event-log.ts'
import { eventually, newBench, type Variables } from '../processes.ts'
import { runs } from '../runs.ts'
import { queryAt, startVisited, type VisitedServer } from '../visited-server.ts'
import { engines, KilledServer } from './killed-server.ts'

/** In each round, a server is killed during deletions, and `kills` servers during their undo. */
const rounds = runs(10, 1)
const kills = runs(2, 1)
/** The links of each deletion. */
const count = runs(300, 40)

/** A change of many records in one request. */
interface Deletion {
  readonly name: string
  /** Selects its batch of events. */
  readonly events: string
  readonly run: (server: VisitedServer) => Promise<Answer>
}

/** Stores a domain with links in a space and with tags, and with clicks. Returns their ids. */
async function storeLinks(variables: Variables, server: VisitedServer, name: string) {
  const domain = await server.stored('/domains', { name: `${name}.example.com`, homepage_url: 'https://acme.com/' })
  const space = await server.stored('/spaces', { name, color: 2 })
  const tag = await server.stored('/tags', { name, color: 3 })
  const links = Array.from({ length: count }, (_, at) => ({
    ...{ domain_id: domain.id, space_id: space.id, tags: [name, 'all'], alias: `a${at}` },
    ...{ url: `https://acme.com/${at}`, title: `Title ${at}`, notes: at % 2 ? 'a\nb' : null, clicks_limit: 10 + at },
  }))
  const { body } = await server.ask('POST', '/links/bulk', { json: { links } })
  assert.equal(body.meta.succeeded, count)
  const ids: number[] = body.data.map(({ data }: Json) => data.id)
  const totals = 'clicks = link_id % 7, bots = 1, last_clicked_ms = 1790000000000 + link_id'
  await queryAt(variables, `update link_clicks set ${totals} where link_id in (${ids})`)
  return { domain, space, tag, ids }
}

/** Stores records for four deletions, which can run at the same time. */
async function newDeletions(variables: Variables, server: VisitedServer, mark: string): Promise<Deletion[]> {
  const batchWith = (record: string, id: number) => {
    const first = `record = '${record}' and record_id = ${id} and action = 'deleted'`
    return `batch_id = (select max(batch_id) from events where ${first})`
  }
  const [first, second, third, fourth] = [
    await storeLinks(variables, server, `${mark}-links`),
    await storeLinks(variables, server, `${mark}-domain`),
    await storeLinks(variables, server, `${mark}-space`),
    await storeLinks(variables, server, `${mark}-tag`),
  ]
  const deletion = (name: string, id: number, path: string, json?: Json): Deletion => ({
    name,
    events: batchWith(name, id),
    run: (on) => on.ask(json === undefined ? 'DELETE' : 'POST', path, { ...(json && { json }) }),
  })
  return [
    deletion('link', first.ids[0] as number, '/links/bulk/delete', { ids: first.ids }),
    deletion('domain', second.domain.id, `/domains/${second.domain.id}?links=delete`),
    deletion('space', third.space.id, `/spaces/${third.space.id}`),
    deletion('tag', fourth.tag.id, `/tags/${fourth.tag.id}`),
  ]
}

/** Returns all records as the API shows them, without what an undo need not restore. */
async function readState(server: VisitedServer): Promise<Json> {
  const kinds = ['domains?', 'spaces?', 'tags?', 'links?archived=any&']
  const lists = await Promise.all(kinds.map((path) => listAll(server, `/${path}`)))
  return lists.map((rows) => rows.map(({ updated_at: _, short_url: __, ...row }) => row))
}

/** Sends a request, and repeats it while the server is too busy, as clients do. */
async function askAgain(server: VisitedServer, path: string, request?: Request): Promise<Answer> {
  for (;;) {
    const answer = await server.ask('POST', path, request)
    if (answer.status !== 503 || answer.headers['retry-after'] === undefined) return answer
  }
}

/** Undoes a deletion through its batch or through its record's event. Returns the number of remaining events. */
async function undo(variables: Variables, server: VisitedServer, deletion: Deletion): Promise<number> {
  const [first] = await readEvents(variables, deletion.events)
  assert.ok(first)
  if (first.kind !== 'link' && randomInt(2) === 0) {
    const { status, text } = await askAgain(server, `/events/${first.id}/undo`)
    assert.equal(status, 200, text)
    // After 5 s, links return in the background.
    return (await readEvents(variables, deletion.events)).filter(({ undoneBy }) => undoneBy === null).length
  }
  const { status, body, text } = await askAgain(server, '/events/undo', { json: { batch_id: first.batch } })
  assert.deepEqual([status, body.meta?.failed], [200, 0], text.slice(0, 500))
  return body.meta.remaining
}

/** Checks that a deletion has one event of each record. */
async function checkDeleted(variables: Variables, { name, events }: Deletion): Promise<void> {
  const found = await readEvents(variables, events)
  assert.equal(found.length, name === 'link' ? count : count + 1, name)
  assert.equal(new Set(found.map(({ record }) => record)).size, found.length, name)
}

/** Checks that each event of a deletion is undone by the only later event of its record. */
async function checkUndone(variables: Variables, { name, events }: Deletion): Promise<void> {
  const originals = await readEvents(variables, events)
  const all = Map.groupBy(await readEvents(variables), ({ record }) => record)
  for (const { id, record, undoneBy } of originals) {
    const later = (all.get(record) ?? []).filter((event) => event.id > id)
    assert.deepEqual(
      later.map((event) => event.id),
      [undoneBy],
      `${name}: ${record}`,
    )
  }
}

/** Selects the events of all deletions. */
const joinEvents = (deletions: readonly Deletion[]) =>
  `events where (${deletions.map(({ events }) => `(${events})`).join(' or ')})`

/** Deletes, and kills the server after a random number of events. */
async function removeThroughKill(killed: KilledServer, deletions: readonly Deletion[]): Promise<void> {
  const [killAt, { server }] = [randomInt(4 * count), killed]
  const removing = deletions.map(({ run }) => run(server))
  await killed.killDuring(removing, async () => (await killed.count(joinEvents(deletions))) >= killAt)
  await killed.removed()
  for (const deletion of deletions) {
    if ((await readEvents(killed.variables, deletion.events)).length === 0) await deletion.run(killed.server)
    await checkDeleted(killed.variables, deletion)
  }
}

/** Undoes deletions, and kills the server meanwhile. Returns whether some of the events were undone, but not all. */
async function undoThroughKill(killed: KilledServer, deletions: readonly Deletion[]): Promise<boolean> {
  const [killAt, { server, variables }] = [randomInt(4 * count), killed]
  const undone = `${joinEvents(deletions)} and undone_by is not null`
  const undoing = deletions.map((each) => undo(variables, server, each))
  await killed.killDuring(undoing, async () => (await killed.count(undone)) >= killAt)
  const found = await killed.count(undone)
  return found > 0 && found < (await killed.count(joinEvents(deletions)))
}

/** Undoes deletions until nothing is left, and checks that everything is as before. */
async function finish(
  variables: Variables,
  servers: readonly VisitedServer[],
  deletions: readonly Deletion[],
  before: Json,
): Promise<void> {
  const undoAll = async (server: VisitedServer, deletion: Deletion) => {
    while ((await undo(variables, server, deletion)) > 0);
  }
  await Promise.all(servers.flatMap((server) => deletions.map((each) => undoAll(server, each))))
  const [server] = servers as [VisitedServer]
  assert.deepEqual(await readState(server), before)
  for (const deletion of deletions) await checkUndone(variables, deletion)
  assert.deepEqual(await readRecords(server), replay(await readEvents(variables)))
}

for (const engine of engines) {
  describe(`on ${engine}`, () => {
    const bench = newBench()
    let killed: KilledServer
    /** Another server on the same database. */
    let other: VisitedServer

    test('removals finish after a SIGKILL, and repeating an undo finishes it after each', async (t) => {
      killed = await KilledServer.start(bench, engine)
      let cut = 0
      for (let round = 0; round < rounds; round++) {
        const deletions = await newDeletions(killed.variables, killed.server, `r${round}`)
        const before = await readState(killed.server)
        await removeThroughKill(killed, deletions)
        for (let kill = 0; kill < kills; kill++) cut += Number(await undoThroughKill(killed, deletions))
        await finish(killed.variables, [killed.server], deletions, before)
      }
      other = await startVisited(bench, killed.variables, killed.server.key)
      t.diagnostic(`${killed.kills} kills, ${cut} of them between transactions of an undo`)
    })

    test('two nodes that undo the same changes at the same time undo each once', async () => {
      const { variables, server } = killed
      const deletions = await newDeletions(variables, server, 'twice')
      const before = await readState(server)
      for (const deletion of deletions) assert.ok((await deletion.run(server)).status < 300)
      await finish(variables, [server, other], deletions, before)
    })

    test('an undo on another node during a removal leaves nothing removed', async () => {
      const { variables, server } = killed
      const [, ...removals] = await newDeletions(variables, server, 'early')
      for (const removal of removals) {
        const before = await readState(server)
        const removed = removal.run(server)
        await eventually(async () => (await readEvents(variables, removal.events)).length > 0)
        await finish(variables, [other], [removal], before)
        assert.equal((await removed).status, 204)
        assert.deepEqual(await readState(server), before, removal.name)
      }
    })
  })
}
