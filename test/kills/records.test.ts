import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { Answer, Json } from '../client.ts'
import { type LoggedEvent, listAll, readEvents, readRecords, recordKinds } from '../event-log.ts'
import { runs } from '../runs.ts'
import type { KilledServer } from './killed-server.ts'
import type { Ledger } from './ledger.ts'
import { testRounds, type WriterTools } from './rounds.ts'

const groupKinds = ['domain', 'space', 'tag'] as const
type GroupKind = (typeof groupKinds)[number]

/** Someone who changes records of their own, one request after another, and first stores some. */
class Writer {
  readonly #tools: WriterTools
  #turn = 0
  #own: Record<GroupKind, Json | null> = { domain: null, space: null, tag: null }
  #links: Json[] = []
  /** The id and the expected events of the last request, which may be undone. */
  #last: { readonly id: string; readonly types: readonly string[] } | null = null

  constructor(tools: WriterTools) {
    this.#tools = tools
  }

  async takeStep(): Promise<void> {
    const steps = [
      ...[this.#storeLink, this.#storeLinks, this.#changeLink, this.#changeLinks, this.#deleteLink],
      ...[this.#deleteLinks, this.#changeGroup, this.#deleteGroup, this.#mergeTags, this.#deleteOnPage, this.#undo],
      ...[this.#storeLinks, this.#deleteGroup, this.#undo],
    ]
    this.#turn += 1
    await this.#storeGroups()
    await (steps[randomInt(steps.length)] as () => Promise<void>).call(this)
  }

  /** In brackets, so that no name is a part of another. */
  get #mark(): string {
    return `<${this.#tools.name}-t${this.#turn}>`
  }

  /** Sends a request that makes these changes. */
  async #send(method: string, path: string, json: Json, types: readonly string[]): Promise<Answer> {
    const { browser, killed, ledger, name } = this.#tools
    const ask = (headers: Record<string, string>) =>
      path.startsWith('/app/')
        ? browser.post(path, json, { headers })
        : killed.server.ask(method, path, { headers, ...(json && { json }) })
    const isNew = method === 'POST' && types[0]?.endsWith('.created')
    const sent = { types, isInSteps: path === '/events/undo', ...(isNew && { repeat: ask }) }
    return ledger.send(name, sent, (headers) => {
      this.#last = { id: headers['x-request-id'] as string, types }
      return ask(headers)
    })
  }

  /** Stores a domain, a space and a tag, unless there are some. */
  async #storeGroups(): Promise<void> {
    const values = {
      domain: `${this.#mark.slice(1, -1)}.example.com`,
      space: `own ${this.#mark}`,
      tag: `own ${this.#mark}`,
    }
    for (const kind of groupKinds) {
      if (this.#own[kind] !== null) continue
      const json = { name: values[kind], ...(kind !== 'domain' && { color: 2 }) }
      this.#own[kind] = (await this.#send('POST', `/${kind}s`, json, [`${kind}.created`])).body.data
    }
  }

  #newLink(at = ''): Json {
    const { domain, space, tag } = this.#own
    const alias = `${this.#mark.slice(1, -1)}${at}`
    return { domain_id: domain.id, space_id: space.id, tags: [tag.name], alias, url: `https://acme.com/${alias}` }
  }

  async #storeLink(): Promise<void> {
    const { body } = await this.#send('POST', '/links', this.#newLink('-one'), ['link.created'])
    this.#links.push(body.data)
  }

  /** Stores links, and with them a tag. */
  async #storeLinks(): Promise<void> {
    if (this.#links.length > 60) return this.#deleteLinks()
    const links = Array.from({ length: randomInt(8) === 0 ? 200 : 30 }, (_, at) => this.#newLink(`-${at}.`))
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

  /** Deletes some links with the dashboard's form. */
  async #deleteOnPage(): Promise<void> {
    const gone = this.#links.splice(0, 10)
    const rows = Object.fromEntries(gone.map(({ id }) => [`row-${id}`, 'on']))
    const form = { ...rows, what: 'delete', confirmed: 'true', next: '/app/links' }
    const types = gone.map(() => 'link.deleted')
    if (gone.length > 0) await this.#send('POST', '/app/links/selected', form, types)
  }

  async #changeGroup(): Promise<void> {
    const kind = this.#anyKind()
    const homepage = `https://acme.com/${this.#mark.slice(1, -1)}`
    const json = kind === 'domain' ? { homepage_url: homepage } : { name: `changed ${this.#mark}` }
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
    if (this.#last === null || this.#last.types.includes('tag.merged')) return
    // Lists on PostgreSQL leave out new events while earlier transactions run.
    const [event] = await readEvents(this.#tools.killed.variables, `request_id = '${this.#last.id}'`)
    const reversals = { created: 'deleted', restored: 'deleted', deleted: 'restored', updated: 'updated' } as const
    const types = this.#last.types.map((type) => {
      const [kind, action] = type.split('.')
      return `${kind}.${reversals[action as keyof typeof reversals]}`
    })
    await this.#send('POST', '/events/undo', { batch_id: event?.batch }, types)
    await this.#readAgain()
  }

  #anyKind(): GroupKind {
    return groupKinds[randomInt(groupKinds.length)] as GroupKind
  }

  /** Reads the writer's records again, some of which may be gone or there again. */
  async #readAgain(): Promise<void> {
    const { domain } = this.#own
    const { server } = this.#tools.killed
    for (const kind of groupKinds) {
      const { status, body } = await server.ask('GET', `/${kind}s/${this.#own[kind].id}`)
      this.#own[kind] = status === 404 ? null : body.data
    }
    const isThere = this.#own.domain !== null
    this.#links = isThere ? await listAll(server, `/links?domain_id=${domain.id}&archived=any&`) : []
  }
}

/** Checks that each domain and space is still what the response to its last change has shown. */
async function checkResponses({ server }: KilledServer, ledger: Ledger, events: readonly LoggedEvent[]): Promise<void> {
  const last = new Map(events.map((event) => [event.record, event]))
  for (const kind of ['domain', 'space']) {
    for (const row of await listAll(server, `/${kind}s?`)) {
      const sent = ledger.get(last.get(`${kind} ${row.id}`)?.requestId ?? null)
      const shown = sent?.shown.find(({ id }) => id === row.id)
      if (shown !== undefined) assert.deepEqual(row, shown)
    }
  }
}

/** Checks that searches find the newest records, and none of the last deleted ones. */
async function checkSearch({ server }: KilledServer, events: readonly LoggedEvent[]): Promise<void> {
  const last = [...new Map(events.map((event) => [event.record, event])).values()]
  for (const kind of recordKinds) {
    const path = `/${kind}s?${kind === 'link' ? 'archived=any&' : ''}`
    const rows = await listAll(server, path)
    const find = async (name: string) => (await server.ask('GET', `${path}search=${encodeURIComponent(name)}`)).body
    for (const row of rows.slice(-10)) assert.deepEqual((await find(row.alias ?? row.name)).data, [row])
    const gone = last.filter((event) => event.kind === kind && event.action === 'deleted')
    const names = gone.map(({ name }) => (kind === 'link' ? name.slice(name.indexOf('/') + 1) : name))
    for (const name of names.filter((each) => !rows.some((row) => (row.alias ?? row.name) === each)).slice(-10))
      assert.equal((await find(name)).meta.total, 0, name)
  }
}

async function checkFile(killed: KilledServer): Promise<void> {
  if (!killed.variables.DATABASE_URL?.startsWith('sqlite:')) return
  assert.deepEqual(Object.values((await killed.query('pragma integrity_check'))[0] ?? {}), ['ok'])
  assert.deepEqual(await killed.query('pragma foreign_key_check'), [])
}

testRounds({
  title: 'each acknowledged change and its response are stored after SIGKILL with exactly one event for each record',
  rounds: { sqlite: runs(76, 3), postgres: runs(60, 1) },
  writers: runs(16, 8),
  requests: [30, runs(200, 100)],
  kinds: recordKinds,
  write(tools) {
    const writer = new Writer(tools)
    return () => writer.takeStep()
  },
  read: ({ server }) => readRecords(server),
  async check(killed, ledger, events) {
    await checkResponses(killed, ledger, events)
    await checkFile(killed)
    await ledger.checkRepetitions(events)
    await checkSearch(killed, await readEvents(killed.variables))
  },
})
