/** Two nodes on one database share changes, click limits, entity tags and idempotency keys. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sumBreakdown } from '../src/analytics/day.ts'
import type { Answer, Json } from './client.ts'
import { eventually, newBench, type Variables } from './processes.ts'
import { runs } from './runs.ts'
import {
  Crowd,
  databaseOn,
  Load,
  startTwo,
  statusesOf,
  storedClicks,
  storedRules,
  type VisitedServer,
} from './visited-server.ts'

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
const keys = runs(10, 4)

const clients = runs(50, 12)

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
      const limits = [1, 1, 1, 7, 30]
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

    test(`loses no update of ${clients} clients that change one of the ${resource} with If-Match, and deletes it only in the state that a client read`, async (t) => {
      const { id } = await nodes[0].stored(`/${resource}`, { name: 'counter.example.com', ...written(0) })
      const path = `/${resource}/${id}`
      let [counted, conflicts] = [0, 0]
      /** Returns the count and its If-Match header; undefined if the record was deleted. */
      const look = async ({ ask }: VisitedServer) => {
        const { status, headers, body } = await ask('GET', path)
        return status === 404 ? undefined : { count: read(body.data), headers: { 'if-match': String(headers.etag) } }
      }
      const count = async (node: VisitedServer) => {
        for (let found = await look(node); found !== undefined; found = await look(node)) {
          const { status } = await node.ask('PATCH', path, { headers: found.headers, json: written(found.count + 1) })
          if (status === 200) counted += 1
          else if (status === 412) conflicts += 1
          else assert.equal(status, 404)
        }
      }
      const remove = async (node: VisitedServer): Promise<number> => {
        for (;;) {
          const found = await look(node)
          assert.ok(found !== undefined)
          if (found.count < clients) continue
          const { status } = await node.ask('DELETE', path, { headers: found.headers })
          if (status === 204) return found.count
          assert.equal(status, 412)
        }
      }
      const counting = Array.from({ length: clients }, (_, client) => count(nodes[client % 2] as VisitedServer))
      const [seen] = await Promise.all([remove(nodes[1]), ...counting])
      assert.equal(counted, seen, 'the deleted state has all acknowledged updates')
      t.diagnostic(`${conflicts} updates were rejected with 412 and repeated`)
      assert.ok(conflicts > 0, 'no update conflicted with another')
    })

    test('50 concurrent requests to both nodes with one Idempotency-Key create one record', async (t) => {
      let waits = 0
      /** Repeats the request until it succeeds. */
      const post = async ({ ask }: VisitedServer, path: string, name: string): Promise<Answer> => {
        for (;;) {
          const answer = await ask('POST', path, { headers: { 'idempotency-key': name }, json: { name } })
          if (answer.status === 201) return answer
          assert.equal(answer.body.code, 'idempotency_in_progress', answer.text)
          assert.equal(answer.headers['retry-after'], '1')
          waits += 1
          await wait(100)
        }
      }
      for (let round = 0; round < keys; round++) {
        const [path, name] = [round % 2 === 0 ? '/domains' : '/spaces', `r${round}.example.com`]
        const asked = Array.from({ length: 50 }, (_, n) => post(nodes[n % 2] as VisitedServer, path, name))
        const answers = await Promise.all(asked)
        const originals = answers.filter(({ headers }) => headers['idempotency-replayed'] !== 'true')
        assert.equal(originals.length, 1)
        const contents = answers.map(({ text, headers: { etag, location } }) => `${etag} ${location} ${text}`)
        assert.equal(new Set(contents).size, 1)
        assert.equal((await nodes[0].ask('GET', `${path}?search=${name}`)).body.meta.total, 1)
      }
      t.diagnostic(`${keys} keys, ${50 * keys} requests, ${waits} of which had to wait`)
    })

    test('counts every click under edits; SIGKILL of one node affects no visitor of the other, no acknowledged write and no stored click; SIGTERM of the other loses nothing', async (t) => {
      const [first, second] = nodes
      const { id: domain_id } = await first.stored('/domains', { name: 'clicks.acme.com' })
      const urlOf = (alias: string) => `http://clicks.acme.com/${alias}`
      const store = async (alias: string) => {
        const limit = alias.endsWith('limited') ? { clicks_limit: 1_000_000 } : {}
        const url = 'https://acme.com'
        const urls = [1, 3].map((weight) => ({ url: `${url}/${weight}`, weight }))
        const rules = [{ name: 'Test', urls }]
        return (await first.stored('/links', { domain_id, alias, url, rules, ...limit })).id
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
      for (const id of [...Object.values(ids), known, limited]) {
        const ofRules = await storedRules(variables, id)
        for (const rule of ofRules.keys()) assert.match(String(rule), /^Test [12]$/)
        assert.equal(sumBreakdown(ofRules), await clicksOf(id))
      }
      // A click within a limit is on disk before its visitor is redirected.
      const [taken, redirects] = [await clicksOf(limited), passed(crowd, 'limited')]
      assert.ok(taken >= redirects && taken <= redirects + unanswered, `${taken} taken, ${redirects} redirected`)
    })
  })
}
