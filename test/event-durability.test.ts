/** Each acknowledged change has exactly one event after a SIGKILL, and each event its change. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Answer, Json } from './client.ts'
import { type Browser, signedIn } from './dashboard.ts'
import { isCut, isRemoving, type LoggedEvent, listAll, readEvents, readRecords, replay, settled } from './event-log.ts'
import { eventually, type Variables } from './processes.ts'
import { runs } from './runs.ts'
import { databaseOn, startVisited, type VisitedServer } from './visited-server.ts'

/** Kills, and concurrent writers, who first store records of their own. */
const rounds = runs(60, 1)
const writers = runs(12, 6)
/** Milliseconds. */
const timeout = 60_000 + rounds * 20_000
/** A server is killed after this many acknowledged requests. */
const [minRequests, maxRequests] = [30, runs(170, 90)]
const bulkSize = 30

/** A request that makes changes. */
interface Sent {
  /** The type of each expected event. */
  readonly types: readonly string[]
  /** Whether a repetition would finish what a crash has interrupted. */
  readonly isInSteps: boolean
  /** The records of the response; null without a response. */
  shown: readonly Json[] | null
}

/** All requests by id. */
type Ledger = Map<string, Sent>

interface WriterParts {
  readonly variables: Variables
  readonly server: VisitedServer
  readonly browser: Browser
  readonly ledger: Ledger
  /** Called after each response. */
  readonly onDone: () => void
}

/** Someone who changes records of their own, one request after another. */
class Writer {
  readonly #parts: WriterParts
  readonly #name: string
  #turn = 0
  #own: Record<'domain' | 'space' | 'tag', Json | null> = { domain: null, space: null, tag: null }
  #links: Json[] = []
  /** What may be undone: the record of the last request. */
  #last = ''

  constructor(parts: WriterParts, name: string) {
    this.#parts = parts
    this.#name = name
  }

  /** Changes records until the server is killed. */
  async run(): Promise<void> {
    const steps = [
      ...[this.#storeLink, this.#storeLinks, this.#changeLink, this.#changeLinks, this.#deleteLink],
      ...[this.#deleteLinks, this.#changeGroup, this.#deleteGroup, this.#mergeTags, this.#deleteOnPage, this.#undo],
      ...[this.#storeLinks, this.#deleteGroup, this.#undo],
    ]
    try {
      for (;;) {
        this.#turn += 1
        await this.#storeGroups()
        await (steps[randomInt(steps.length)] as () => Promise<void>).call(this)
      }
    } catch (error) {
      if (!isCut(error)) throw error
    }
  }

  get #mark(): string {
    return `${this.#name}-t${this.#turn}`
  }

  /** Sends a request that makes these changes. */
  async #send(method: string, path: string, json: Json, types: readonly string[]): Promise<Answer> {
    const headers = { 'x-request-id': `${this.#mark}.${this.#parts.ledger.size}` }
    const sent: Sent = { types, isInSteps: path === '/events/undo', shown: null }
    this.#parts.ledger.set(headers['x-request-id'], sent)
    const ask = () =>
      path.startsWith('/app/')
        ? this.#parts.browser.post(path, json, { headers })
        : this.#parts.server.ask(method, path, { headers, ...(json && { json }) })
    let answer = await ask()
    while (answer.status === 503 && /overloaded/i.test(answer.text)) answer = await ask()
    assert.ok(answer.status < 400, `${method} ${path}: ${answer.status} ${answer.text.slice(-500)}`)
    sent.shown = sent.isInSteps ? [] : recordsIn(answer, types[0] as string)
    this.#last = headers['x-request-id']
    this.#parts.onDone()
    return answer
  }

  /** Stores a domain, a space and a tag, unless there are some. */
  async #storeGroups(): Promise<void> {
    const values = { domain: `${this.#mark}.example.com`, space: `Space ${this.#mark}`, tag: `tag ${this.#mark}` }
    for (const kind of ['domain', 'space', 'tag'] as const) {
      if (this.#own[kind] !== null) continue
      const json = { name: values[kind], ...(kind !== 'domain' && { color: 2 }) }
      this.#own[kind] = (await this.#send('POST', `/${kind}s`, json, [`${kind}.created`])).body.data
    }
  }

  #newLink(at = ''): Json {
    const { domain, space, tag } = this.#own
    const alias = `${this.#mark}${at}`
    return { domain_id: domain.id, space_id: space.id, tags: [tag.name], alias, url: `https://acme.com/${alias}` }
  }

  async #storeLink(): Promise<void> {
    const { body } = await this.#send('POST', '/links', this.#newLink(), ['link.created'])
    this.#links.push(body.data)
  }

  /** Stores links, and with them a tag. */
  async #storeLinks(): Promise<void> {
    if (this.#links.length > 60) return this.#deleteLinks()
    const links = Array.from({ length: bulkSize }, (_, at) => this.#newLink(`-${at}`))
    for (const link of links) link.tags.push(`new ${this.#mark}`)
    const types = [...links.map(() => 'link.created'), 'tag.created']
    const { body } = await this.#send('POST', '/links/bulk', { links }, types)
    this.#links.push(...body.data.map(({ data }: Json) => data))
  }

  async #changeLink(): Promise<void> {
    const link = this.#links[0]
    if (link === undefined) return this.#storeLink()
    const json = { title: `Title ${this.#mark}`, archived: !link.archived, clicks_limit: this.#turn, notes: 'a\nb' }
    this.#links[0] = (await this.#send('PATCH', `/links/${link.id}`, json, ['link.updated'])).body.data
  }

  async #changeLinks(): Promise<void> {
    if (this.#links.length === 0) return this.#storeLinks()
    const ids = this.#links.map(({ id }) => id)
    const json = { ids, set: { title: `Title ${this.#mark}` }, add_tags: [this.#own.tag.name] }
    const types = ids.map(() => 'link.updated')
    const { body } = await this.#send('PATCH', '/links/bulk', json, types)
    this.#links = body.data.map(({ data }: Json) => data)
  }

  async #deleteLink(): Promise<void> {
    const link = this.#links.pop()
    if (link !== undefined) await this.#send('DELETE', `/links/${link.id}`, undefined, ['link.deleted'])
  }

  async #deleteLinks(): Promise<void> {
    const ids = this.#links.splice(0).map(({ id }) => id)
    const types = ids.map(() => 'link.deleted')
    if (ids.length > 0) await this.#send('POST', '/links/bulk/delete', { ids }, types)
  }

  /** Deletes some links with the form of the dashboard. */
  async #deleteOnPage(): Promise<void> {
    const gone = this.#links.splice(0, 10)
    const rows = Object.fromEntries(gone.map(({ id }) => [`row-${id}`, 'on']))
    const form = { ...rows, what: 'delete', confirmed: 'true', next: '/app/links' }
    const types = gone.map(() => 'link.deleted')
    if (gone.length > 0) await this.#send('POST', '/app/links/selected', form, types)
  }

  async #changeGroup(): Promise<void> {
    const kind = this.#anyKind()
    const json = kind === 'domain' ? { homepage_url: `https://acme.com/${this.#mark}` } : { name: `new ${this.#mark}!` }
    const path = `/${kind}s/${this.#own[kind].id}`
    this.#own[kind] = (await this.#send('PATCH', path, json, [`${kind}.updated`])).body.data
    await this.#readAgain()
  }

  /** Deletes a domain with its links, a space or a tag, through the API or on a page. */
  async #deleteGroup(): Promise<void> {
    const kind = this.#anyKind()
    const { id, name } = this.#own[kind]
    const members = {
      domain: this.#links,
      space: this.#links.filter(({ space_id }) => space_id === id),
      tag: this.#links.filter(({ tags }) => tags.includes(name)),
    }
    const types = [`${kind}.deleted`, ...members[kind].map(() => (kind === 'domain' ? 'link.deleted' : 'link.updated'))]
    if (randomInt(2) === 0) await this.#send('POST', `/app/${kind}s/${id}/delete`, { name }, types)
    else await this.#send('DELETE', `/${kind}s/${id}${kind === 'domain' ? '?links=delete' : ''}`, undefined, types)
    await this.#readAgain()
  }

  async #mergeTags(): Promise<void> {
    const tag = { name: `other ${this.#mark}`, color: 3 }
    const { body } = await this.#send('POST', '/tags', tag, ['tag.created'])
    await this.#send('POST', `/tags/${this.#own.tag.id}/merge`, { into: body.data.id }, ['tag.merged'])
    this.#own.tag = body.data
    await this.#readAgain()
  }

  /** Undoes the last request. */
  async #undo(): Promise<void> {
    const last = this.#parts.ledger.get(this.#last)
    if (last === undefined || last.types.includes('tag.merged')) return
    // Lists on PostgreSQL leave out new events while earlier transactions run.
    const [event] = await readEvents(this.#parts.variables, `request_id = '${this.#last}'`)
    const reversals = { created: 'deleted', restored: 'deleted', deleted: 'restored', updated: 'updated' } as const
    const types = last.types.map((type) => {
      const [kind, action] = type.split('.')
      return `${kind}.${reversals[action as keyof typeof reversals]}`
    })
    await this.#send('POST', '/events/undo', { batch_id: event?.batch }, types)
    await this.#readAgain()
  }

  #anyKind() {
    return (['domain', 'space', 'tag'] as const)[randomInt(3)] as 'domain' | 'space' | 'tag'
  }

  /** Reads the writer's records again, some of which may be gone or there again. */
  async #readAgain(): Promise<void> {
    const { domain } = this.#own
    for (const kind of ['domain', 'space', 'tag'] as const) {
      const { status, body } = await this.#parts.server.ask('GET', `/${kind}s/${this.#own[kind].id}`)
      this.#own[kind] = status === 404 ? null : body.data
    }
    const isThere = this.#own.domain !== null
    this.#links = isThere ? await listAll(this.#parts.server, `/links?domain_id=${domain.id}&archived=any&`) : []
  }
}

/** Returns the changed records in a response, whose first event has this type. Throws if one of several could not be changed. */
function recordsIn({ status, body }: Answer, type: string): Json[] {
  if (status === 204 || status === 303 || !/created|updated/.test(type)) return []
  const rows = [body.data].flat()
  assert.deepEqual(
    rows.filter(({ code }) => code !== undefined),
    [],
  )
  return rows.map((row) => row.data ?? row)
}

/** Checks that each request has exactly its events. Without a response, it may have none. */
function checkRequests(ledger: Ledger, events: readonly LoggedEvent[]): void {
  const byRequest = Map.groupBy(events, ({ requestId }) => requestId ?? '')
  for (const requestId of byRequest.keys()) assert.ok(ledger.has(requestId), `a request ${requestId} was never sent`)
  for (const [requestId, { types, shown, isInSteps }] of ledger) {
    const own = byRequest.get(requestId) ?? []
    assert.equal(new Set(own.map(({ batch }) => batch)).size, Math.min(1, own.length), requestId)
    assert.equal(new Set(own.map(({ record }) => record)).size, own.length, `${requestId}: two events of one record`)
    const found = own.map(({ kind, action }) => `${kind}.${action}`)
    const missing = [...types]
    for (const type of found) {
      assert.ok(missing.includes(type), `${requestId}: ${type} is not one of ${types}`)
      missing.splice(missing.indexOf(type), 1)
    }
    if (shown !== null || (found.length > 0 && !isInSteps)) assert.deepEqual(missing, [], requestId)
    for (const row of shown ?? []) {
      const event = own.find(({ record }) => record === `${types[0]?.split('.')[0]} ${row.id}`)
      assert.ok(event, `${requestId}: no event of ${row.id}`)
      for (const [field, [, after]] of Object.entries(event.changes)) assert.deepEqual(row[field], after, requestId)
    }
  }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`on ${engine}`, () => {
    test('each acknowledged change has exactly one event after SIGKILL, and each event its change', {
      timeout,
    }, async (t) => {
      const variables = await databaseOn(t, engine)
      const ledger: Ledger = new Map()
      let [server, done] = [await startVisited(t, variables), 0]
      for (let round = 0; round < rounds; round++) {
        const parts = { variables, server, ledger, browser: await signedIn(server) }
        const killAt = done + randomInt(minRequests, maxRequests)
        const onDone = () => {
          done += 1
          if (done === killAt) server.child.kill('SIGKILL')
        }
        const names = Array.from({ length: writers }, (_, writer) => `r${round}-w${writer}`)
        await Promise.all(names.map((name) => new Writer({ ...parts, onDone }, name).run()))
        assert.equal((await server.ended).signal, 'SIGKILL')
        await settled(variables)
        server = await startVisited(t, variables, server.key)
        await eventually(async () => !(await isRemoving(variables)))
        const events = await readEvents(variables)
        checkRequests(ledger, events)
        assert.deepEqual(await readRecords(server), replay(events))
      }
      const cut = [...ledger.values()].filter(({ shown }) => shown === null).length
      const stored = (await readEvents(variables)).length
      t.diagnostic(`Kills: ${rounds}. ${done} requests acknowledged, ${cut} cut off, ${stored} events`)
      assert.ok(done >= rounds * minRequests)
    })
  })
}
