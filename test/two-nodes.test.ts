/** Two nodes on one database share changes, click limits, entity tags and idempotency keys. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { before, describe, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, type Json, sendRequest } from './client.ts'
import { isReplayed, postOnce, settled, wantedBy } from './idempotent-requests.ts'
import { eventually, newBench, type RunningServer, type Variables } from './processes.ts'
import { runs } from './runs.ts'
import { Crowd, databaseOn, Load, startTwo, statusesOf, storedClicks, type VisitedServer } from './visited-server.ts'

/** The visits in two seconds on an idle machine, whose tests wait 20 ms after each. */
const maxVisits = 100

const told = ({ status, headers }: Answer) => [status, headers.location]
const isNone = ({ status }: Answer) => status === 404
const matchesShortUrl = (url: string) => (answer: Answer) => answer.headers.location === url

/** Changes one node, and counts the visits until the other one shows it. */
class Watch {
  readonly visits: number[] = []
  readonly #here: VisitedServer
  readonly #there: VisitedServer

  constructor(here: VisitedServer, there: VisitedServer) {
    this.#here = here
    this.#there = there
  }

  /** Asserts that the node with the change shows it immediately, and that the other node shows it soon. */
  async see(
    change: readonly [method: string, path: string, json?: Json],
    url: string,
    shows: (answer: Answer) => boolean,
  ) {
    const [method, path, json] = change
    const { status, text } = await this.#here.ask(method, path, json && { json })
    assert.ok(status < 300, text)
    const here = await this.#here.visit(url)
    assert.ok(shows(here), `${method} ${path}, where it was made: ${told(here)}`)
    let visits = 0
    await eventually(async () => {
      visits += 1
      return shows(await this.#there.visit(url))
    })
    this.visits.push(visits)
  }
}

/** Idempotency keys, each of which 50 requests have. */
const keys = runs(10, 2)

const clients = runs(50, 8)

/** Each record has a count in one of its fields. */
const counters = {
  sqlite: {
    resource: 'domains',
    written: (n: number) => ({ homepage_url: `https://acme.com/${n}` }),
    read: (data: Json) => Number(data.homepage_url.split('/').at(-1)),
  },
  postgres: {
    resource: 'spaces',
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

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`two nodes on ${engine}`, () => {
    const bench = newBench()
    let variables: Variables
    let nodes: readonly [VisitedServer, VisitedServer]

    before(async () => {
      variables = await databaseOn(bench, engine)
      nodes = await startTwo(bench, variables)
    })

    test('shows a change on one node to visitors of the other within a second', async () => {
      const [here, there] = nodes
      const host = 'http://go.acme.com'
      const { id: domain } = await here.stored('/domains', { name: 'go.acme.com' })
      const { id } = await here.stored('/links', { domain_id: domain, alias: 'sale', url: 'https://acme.com/0' })
      const both = [new Watch(here, there), new Watch(there, here)] as const
      const [one, other] = both
      await eventually(async () => (await there.visit(`${host}/sale`)).status === 302)

      for (let n = 1; n <= 4; n++) {
        const url = `https://acme.com/${n}`
        await (both[n % 2] as Watch).see(['PATCH', `/links/${id}`, { url }], `${host}/sale`, matchesShortUrl(url))
      }
      await one.see(['PATCH', `/links/${id}`, { disabled: true }], `${host}/sale`, isNone)
      await other.see(
        ['PATCH', `/links/${id}`, { disabled: false }],
        `${host}/sale`,
        matchesShortUrl('https://acme.com/4'),
      )
      // The other node has just cached that the link does not exist.
      assert.ok(isNone(await there.visit(`${host}/autumn`)))
      await one.see(
        ['PATCH', `/links/${id}`, { alias: 'Autumn' }],
        `${host}/autumn`,
        matchesShortUrl('https://acme.com/4'),
      )
      await eventually(async () => isNone(await there.visit(`${host}/sale`)))
      const winter = { domain_id: domain, alias: 'winter', url: 'https://acme.com/winter' }
      assert.ok(isNone(await here.visit(`${host}/winter`)))
      await other.see(['POST', '/links', winter], `${host}/winter`, matchesShortUrl(winter.url))
      await one.see(['DELETE', `/links/${id}`], `${host}/autumn`, isNone)

      const homepage_url = 'https://acme.com/home'
      await one.see(['PATCH', `/domains/${domain}`, { homepage_url }], host, matchesShortUrl(homepage_url))
      const not_found_url = 'https://acme.com/404'
      await other.see(
        ['PATCH', `/domains/${domain}`, { not_found_url }],
        `${host}/none`,
        matchesShortUrl(not_found_url),
      )
      await one.see(['DELETE', `/domains/${domain}?links=delete`], `${host}/winter`, isNone)
      const renewed = ['POST', '/domains', { name: 'go.acme.com', homepage_url }] as const
      await other.see(renewed, host, matchesShortUrl(homepage_url))
      // The links of the previous domain are deleted.
      assert.ok(isNone(await here.visit(`${host}/winter`)))

      const visits = both.flatMap((watch) => watch.visits)
      assert.ok(Math.max(...visits) < maxVisits, String(visits))
    })

    test(`redirects exactly as many concurrent visits to both nodes as the click limit allows`, async () => {
      const [node] = nodes
      const host = 'http://limits.acme.com'
      const { id: domain_id } = await node.stored('/domains', { name: 'limits.acme.com' })
      const limits = [1, 7, 1, 1, 30].slice(0, runs(5, 2))
      for (const [n, clicks_limit] of limits.entries()) {
        const { id } = await node.stored('/links', { domain_id, alias: `l${n}`, url: 'https://acme.com', clicks_limit })
        await eventually(async () => (await nodes[1].visit(`${host}/l${n}+`)).status === 200)
        const visits = Array.from({ length: 60 }, (_, person) =>
          (nodes[person % 2] as VisitedServer).visit(`${host}/l${n}`),
        )
        const statuses = (await Promise.all(visits)).map(({ status }) => status)
        assert.equal(statuses.filter((status) => status === 302).length, clicks_limit, String(statuses))
        assert.ok(statuses.every((status) => status === 302 || status === 410))
        for (const { ask } of nodes) {
          const { clicks, status } = (await ask('GET', `/links/${id}`)).body.data
          assert.deepEqual([clicks, status], [clicks_limit, 'expired'])
        }
      }
    })

    test(`redirects on both nodes again after the click limit is raised on one`, async () => {
      const [here, there] = nodes
      const host = 'http://raised.acme.com'
      const { id: domain_id } = await here.stored('/domains', { name: 'raised.acme.com' })
      const { id } = await here.stored('/links', { domain_id, alias: 'sale', url: 'https://acme.com', clicks_limit: 1 })
      await eventually(async () => (await there.visit(`${host}/sale`)).status === 302)
      for (const { visit } of nodes) assert.equal((await visit(`${host}/sale`)).status, 410)
      assert.equal((await here.ask('PATCH', `/links/${id}`, { json: { clicks_limit: 3 } })).status, 200)
      assert.equal((await here.visit(`${host}/sale`)).status, 302)
      await eventually(async () => (await there.visit(`${host}/sale`)).status === 302)
      for (const { visit } of nodes) assert.equal((await visit(`${host}/sale`)).status, 410)
      assert.equal((await there.ask('GET', `/links/${id}`)).body.data.clicks, 3)
    })

    const { resource, written, read } = counters[engine]

    /** Returns a function that creates clients, each of the other node. */
    const newClients = (t: TestContext) => {
      let created = 0
      return () => {
        created += 1
        return new Client(t, nodes[created % 2] as VisitedServer, nodes[0].key)
      }
    }

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

    test(`loses no update of ${clients} clients that change one of the ${resource} with If-Match`, async (t) => {
      const client = newClients(t)
      const path = await store(client())
      const stale: string[] = []
      const done = await Promise.all(Array.from({ length: clients }, () => increment(client(), path, stale)))
      assert.deepEqual(new Set(done), new Set([true]))
      assert.equal((await look(client(), path))?.count, clients)
      t.diagnostic(`${stale.length} updates were rejected with 412 and repeated`)
      assert.ok(stale.length > 0, 'no update conflicted with another')
    })

    test(`deletes one of the ${resource} with If-Match only in the state that the client read`, async (t) => {
      const client = newClients(t)
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

    test('50 concurrent requests to both nodes with one Idempotency-Key create one record', async (t) => {
      const [first, second] = nodes
      const agent = new Agent({ keepAlive: true, maxSockets: 50 })
      t.after(() => agent.destroy())
      let waited = 0
      for (let round = 0; round < keys; round++) {
        const wanted = wantedBy(`r${round}`, round % 2 === 0 ? 'domains' : 'spaces')
        const asked = Array.from({ length: 50 }, (_, n) =>
          settled(() => postOnce(n % 2 === 0 ? first : second, agent, first.key, wanted)),
        )
        const answers = await Promise.all(asked)
        waited += answers.filter(({ waits }) => waits > 0).length
        assert.equal(answers.filter(({ answer }) => !isReplayed(answer)).length, 1)
        const [{ answer }] = answers as [(typeof answers)[0]]
        for (const each of answers) {
          assert.equal(each.answer.text, answer.text)
          assert.equal(each.answer.headers.etag, answer.headers.etag)
          assert.equal(each.answer.headers.location, answer.headers.location)
        }
        const found = await first.ask('GET', `/${wanted.resource}?search=${wanted.name}`)
        assert.equal(found.body.meta.total, 1)
      }
      t.diagnostic(`${keys} keys, ${50 * keys} requests, ${waited} of which were first told to wait`)
    })

    test('counts every click under edits; SIGKILL of one node affects no visitor of the other, no acknowledged write and no stored click; SIGTERM of the other loses nothing', async (t) => {
      const [first, second] = nodes
      const { id: domain_id } = await first.stored('/domains', { name: 'clicks.acme.com' })
      const urlOf = (alias: string) => `http://clicks.acme.com/${alias}`
      const store = async (alias: string) => {
        const limit = alias.endsWith('limited') ? { clicks_limit: 1_000_000 } : {}
        return (await first.stored('/links', { domain_id, alias, url: 'https://acme.com', ...limit })).id
      }
      const ids = { edited: await store('edited'), 'edited-limited': await store('edited-limited') }
      const [known, limited] = [await store('known'), await store('limited')]
      await eventually(async () => (await second.visit(`${urlOf('limited')}+`)).status === 200)
      const clicksOf = (id: number) => storedClicks(variables, id)
      const passed = (crowd: Crowd, alias: string) =>
        crowd.of(urlOf(alias)).filter(({ status }) => status === 302).length

      const editing = new Crowd(t, nodes, ['edited', 'edited', 'edited', 'edited-limited'].map(urlOf))
      for (let edits = 0; editing.visits.length < 200 || edits < 12; edits++) {
        const { ask } = nodes[edits % 2] as VisitedServer
        const json = edits % 3 ? { url: `https://acme.com/${edits}` } : { title: `Edit ${edits}`, space_id: '' }
        const { status, text } = await ask('PATCH', `/links/${ids.edited}`, { json })
        assert.equal(status, 200, text)
        await wait(50)
      }
      await editing.end()
      // Each node stores its clicks within a second.
      await eventually(async () => (await clicksOf(ids.edited)) >= passed(editing, 'edited'))

      const crowd = new Crowd(t, nodes, ['known', 'limited'].map(urlOf))
      const load = new Load(t, nodes)
      await eventually(() => crowd.redirected(first.visitPort) > 40 && load.acknowledged.length > 50)
      const least = passed(crowd, 'known')
      await eventually(async () => (await clicksOf(known)) >= least)
      await first.end('SIGKILL')
      const killedAt = crowd.now()
      const [redirected, { length }] = [crowd.redirected(second.visitPort), load.acknowledged]
      const isServing = () => crowd.redirected(second.visitPort) > redirected + 40
      await eventually(() => isServing() && load.acknowledged.length > length + 50)
      const survivors = crowd.visits.filter(({ port }) => port === second.visitPort)
      assert.deepEqual(Object.keys(statusesOf(survivors)), ['302'])
      await load.assertKept(variables)
      assert.equal((await second.end('SIGTERM')).code, 0)
      await crowd.end()

      for (const [alias, id] of Object.entries(ids)) assert.equal(await clicksOf(id), passed(editing, alias), alias)
      const unanswered = crowd.visits.filter(({ status, at }) => status === null && at <= killedAt).length
      const here = crowd.of(urlOf('known')).filter(({ status, port }) => status === 302 && port === second.visitPort)
      const counted = await clicksOf(known)
      assert.ok(counted >= Math.max(least, here.length), `${counted} counted`)
      assert.ok(counted <= passed(crowd, 'known') + unanswered, `${counted} counted`)
      // A click within a limit is on disk before its visitor is redirected.
      const [taken, redirects] = [await clicksOf(limited), passed(crowd, 'limited')]
      assert.ok(taken >= redirects && taken <= redirects + unanswered, `${taken} taken, ${redirects} redirected`)
    })
  })
}
