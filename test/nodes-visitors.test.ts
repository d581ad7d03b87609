/** Visits to two nodes on one database, which share changes and click limits. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer, Json } from './client.ts'
import { eventually } from './processes.ts'
import { databaseOn, startTwo, type VisitedServer } from './visited-server.ts'

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

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`two nodes on ${engine}`, () => {
    let nodes: readonly [VisitedServer, VisitedServer]

    const closers: (() => unknown)[] = []

    before(async () => {
      const bench = { after: (work: () => unknown) => void closers.push(work) }
      nodes = await startTwo(bench, await databaseOn(bench, engine))
    })
    after(async () => {
      for (const close of closers.reverse()) await close()
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
  })
}
