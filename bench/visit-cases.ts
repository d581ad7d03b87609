/**
 * Visits: short links that are followed.
 */
import type { Call } from './call.ts'
import { anyOf, type Case, read, type Stock, serial } from './case.ts'
import { aliasOf, domainOf, evenly, HostNames, numberOfRank, zipf } from './link-records.ts'
import { below } from './records.ts'
import { contentsOf } from './seed.ts'
import { peoplesHeads } from './visitors.ts'

/** Links that any memory holds. */
const rememberedLinks = 300

const visit = { ...read, seed: 'links', listener: 'redirect', status: 302, leaves: 'clicks' } as const

export const visitCases: readonly Case[] = [
  {
    ...visit,
    name: 'visit-memory',
    title: 'visit: link in memory',
    calls: (stock) => visitsOf(stock, someLinks(stock), peoplesHeads),
  },
  {
    ...visit,
    leaves: 'nothing',
    beside: 'visit-memory',
    name: 'visit-uncounted',
    title: 'visit: homepage, no click',
    calls: (stock) => {
      const [hosts, { domains }] = [new HostNames(), contentsOf(stock.kind, stock.records)]
      return () => visitTo(hosts.of(1 + below(Math.min(domains, rememberedLinks))), '', anyOf(peoplesHeads))
    },
  },
  {
    ...visit,
    name: 'visit-zipf',
    title: 'visit: as visits fall',
    calls: (stock) => visitsOf(stock, zipf(stock.records), peoplesHeads),
  },
  {
    ...visit,
    pace: 'half',
    name: 'visit-paced',
    title: 'visit: as visits fall, half pace',
    calls: (stock) => visitsOf(stock, zipf(stock.records), peoplesHeads),
  },
  {
    ...visit,
    name: 'visit-even',
    title: 'visit: drawn evenly',
    calls: (stock) => visitsOf(stock, evenly(stock.records), peoplesHeads),
  },
  {
    ...visit,
    status: 404,
    leaves: 'nothing',
    name: 'visit-unknown-alias',
    title: 'visit: unknown alias',
    calls: (stock) => {
      const [hosts, { domains }] = [new HostNames(), contentsOf(stock.kind, stock.records)]
      // Domains with even numbers have an address for visitors who are lost.
      return () => visitTo(hosts.of(1 + 2 * below(domains / 2)), `none-${serial()}`, anyOf(peoplesHeads))
    },
  },
  {
    ...visit,
    status: 404,
    leaves: 'nothing',
    name: 'visit-unknown-host',
    title: 'visit: unknown host',
    calls: () => () => visitTo(`${serial()}.example`, 'welcome', anyOf(peoplesHeads)),
  },
]

/** Draws from a few links, scattered over all. */
function someLinks({ records }: Stock): () => number {
  const count = Math.min(rememberedLinks, records)
  return () => numberOfRank(below(count), records)
}

function visitsOf({ kind, records }: Stock, link: () => number, heads: readonly string[]): () => Call {
  const [hosts, { domains }] = [new HostNames(), contentsOf(kind, records)]
  return () => {
    const drawn = link()
    return visitTo(hosts.of(domainOf(drawn, domains)), aliasOf(drawn), anyOf(heads))
  }
}

function visitTo(host: string, alias: string, head: string): Call {
  return { method: 'GET', path: `/${alias}`, host, head, form: '' }
}
