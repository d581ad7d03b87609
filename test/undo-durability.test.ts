/** Deletions and their undo survive a SIGKILL, and two nodes that undo the same changes undo each of them once. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import type { Answer, Json, Request } from './client.ts'
import { isCut, isRemoving, listAll, readEvents, readRecords, replay, settled } from './event-log.ts'
import { type Bench, eventually, newBench, type Variables } from './processes.ts'
import { runs } from './runs.ts'
import { databaseOn, queryAt, startVisited, type VisitedServer } from './visited-server.ts'

/** In each round, a server is killed during deletions, and `kills` servers during their undo. */
const rounds = runs(10, 1)
const kills = runs(2, 1)
/** Milliseconds. */
const timeout = 60_000 + rounds * 30_000
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
  const batchOf = (record: string, id: number) => {
    const first = `record = '${record}' and record_id = ${id} and action = 'deleted'`
    return `batch_id = (select max(batch_id) from events where ${first})`
  }
  const [first, second, third, fourth] = [
    await storeLinks(variables, server, `${mark}-links`),
    await storeLinks(variables, server, `${mark}-domain`),
    await storeLinks(variables, server, `${mark}-space`),
    await storeLinks(variables, server, `${mark}-tag`),
  ]
  const remove = (path: string) => (server: VisitedServer) => server.ask('DELETE', path)
  return [
    {
      name: 'links',
      events: batchOf('link', first.ids[0] as number),
      run: (server) => server.ask('POST', '/links/bulk/delete', { json: { ids: first.ids } }),
    },
    {
      name: 'domain',
      events: batchOf('domain', second.domain.id),
      run: remove(`/domains/${second.domain.id}?links=delete`),
    },
    { name: 'space', events: batchOf('space', third.space.id), run: remove(`/spaces/${third.space.id}`) },
    { name: 'tag', events: batchOf('tag', fourth.tag.id), run: remove(`/tags/${fourth.tag.id}`) },
  ]
}

/** Returns all records as the API shows them, without what an undo need not restore. */
async function stateOf(server: VisitedServer): Promise<Json> {
  const kinds = ['domains?', 'spaces?', 'tags?', 'links?archived=any&']
  const lists = await Promise.all(kinds.map((path) => listAll(server, `/${path}`)))
  return lists.map((rows) => rows.map(({ updated_at: _, short_url: __, ...row }) => row))
}

const unlessCut = (error: unknown) => {
  if (!isCut(error)) throw error
}

/** Sends a request, and repeats it while the server is too busy, as clients do. */
async function askAgain(server: VisitedServer, path: string, request?: Request): Promise<Answer> {
  for (;;) {
    const answer = await server.ask('POST', path, request)
    if (answer.status !== 503 || answer.headers['retry-after'] === undefined) return answer
  }
}

/** Undoes a deletion through its batch or through the event of its record. Returns the number of events that are left. */
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
  assert.equal(found.length, name === 'links' ? count : count + 1, name)
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

/** Several deletions that run at the same time, on a server that is killed again and again. */
class Trial {
  server: VisitedServer
  /** Kills between two transactions of an undo. */
  cut = 0
  readonly #t: Bench
  readonly #variables: Variables

  constructor(t: Bench, variables: Variables, server: VisitedServer) {
    this.#t = t
    this.#variables = variables
    this.server = server
  }

  /** Deletes, and kills the server meanwhile. */
  async remove(deletions: readonly Deletion[]): Promise<void> {
    const removing = deletions.map(({ run }) => run(this.server).catch(unlessCut))
    await this.#killDuring(Promise.all(removing), eventsOf(deletions))
    await eventually(async () => !(await isRemoving(this.#variables)))
    for (const deletion of deletions) {
      if ((await readEvents(this.#variables, deletion.events)).length === 0) await deletion.run(this.server)
      await checkDeleted(this.#variables, deletion)
    }
  }

  /** Undoes deletions, and kills the server meanwhile. */
  async undo(deletions: readonly Deletion[]): Promise<void> {
    const undone = `${eventsOf(deletions)} and undone_by is not null`
    const undoing = deletions.map((each) => undo(this.#variables, this.server, each).catch(unlessCut))
    await this.#killDuring(Promise.all(undoing), undone)
    const found = await this.#count(undone)
    if (found > 0 && found < (await this.#count(eventsOf(deletions)))) this.cut += 1
  }

  /** Kills the server after a random number of events, or once `work` has ended. Starts the next one. */
  async #killDuring(work: Promise<unknown>, events: string): Promise<void> {
    const killAt = randomInt(4 * count)
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    // A query on SQLite lets no other work run.
    while (!isDone && (await this.#count(events)) < killAt) await tick()
    this.server.child.kill('SIGKILL')
    await Promise.all([done, this.server.ended])
    await settled(this.#variables)
    this.server = await startVisited(this.#t, this.#variables, this.server.key)
  }

  async #count(events: string): Promise<number> {
    const [row] = await queryAt(this.#variables, `select count(*) as found from events where ${events}`)
    return Number(row?.found)
  }
}

const eventsOf = (deletions: readonly Deletion[]) => `(${deletions.map(({ events }) => `(${events})`).join(' or ')})`

/** Undoes deletions until nothing is left, and checks that everything is as before. */
async function finish(
  variables: Variables,
  servers: readonly VisitedServer[],
  deletions: readonly Deletion[],
  before: Json,
): Promise<void> {
  const undoing = servers.flatMap((server) => deletions.map((each) => undoAll(variables, server, each)))
  await Promise.all(undoing)
  const [server] = servers as [VisitedServer]
  assert.deepEqual(await stateOf(server), before)
  for (const deletion of deletions) await checkUndone(variables, deletion)
  assert.deepEqual(await readRecords(server), replay(await readEvents(variables)))
}

async function undoAll(variables: Variables, server: VisitedServer, deletion: Deletion): Promise<void> {
  while ((await undo(variables, server, deletion)) > 0);
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`on ${engine}`, () => {
    const bench = newBench()
    let variables: Variables
    /** The server that is running after the first test, and another on the same database. */
    let nodes: readonly [VisitedServer, VisitedServer]

    before(async () => {
      variables = await databaseOn(bench, engine)
    })

    test('removals finish after a SIGKILL, and repeating an undo finishes it after each', { timeout }, async (t) => {
      const trial = new Trial(bench, variables, await startVisited(bench, variables))
      for (let round = 0; round < rounds; round++) {
        const deletions = await newDeletions(variables, trial.server, `r${round}`)
        const before = await stateOf(trial.server)
        await trial.remove(deletions)
        for (let kill = 0; kill < kills; kill++) await trial.undo(deletions)
        await finish(variables, [trial.server], deletions, before)
      }
      nodes = [trial.server, await startVisited(bench, variables, trial.server.key)]
      t.diagnostic(`${rounds * (1 + kills)} kills, ${trial.cut} of them between transactions of an undo`)
    })

    test('two nodes that undo the same changes at the same time undo each once', async () => {
      const [node] = nodes
      const deletions = await newDeletions(variables, node, 'twice')
      const before = await stateOf(node)
      for (const deletion of deletions) assert.ok((await deletion.run(node)).status < 300)
      await finish(variables, nodes, deletions, before)
    })

    test('an undo on another node during a removal leaves nothing removed', async () => {
      const [node, other] = nodes
      const [, ...removals] = await newDeletions(variables, node, 'early')
      for (const removal of removals) {
        const before = await stateOf(node)
        const removed = removal.run(node)
        await eventually(async () => (await readEvents(variables, removal.events)).length > 0)
        await finish(variables, [other], [removal], before)
        assert.equal((await removed).status, 204)
        assert.deepEqual(await stateOf(node), before, removal.name)
      }
    })
  })
}
