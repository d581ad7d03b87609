/**
 * Redirects of visitors.
 */
import type { Call } from './call.ts'
import { anyOf, type Case, read, type Stock, serial } from './case.ts'
import { aliasOf, domainOf, evenly, HostNames, numberOfRank, zipf } from './link-records.ts'
import { below } from './records.ts'
import { contentsOf } from './seed.ts'

const systems = [
  'Windows NT 10.0; Win64; x64',
  'Macintosh; Intel Mac OS X 10_15_7',
  'X11; Linux x86_64',
  'Linux; Android 16; K',
  'X11; CrOS x86_64 14541.0.0',
]
const languages = ['en-US,en;q=0.9', 'de-DE,de;q=0.9,en;q=0.8', 'fr-FR,fr;q=0.9', 'ja,en-US;q=0.9', 'pt-BR,pt;q=0.9']
const referrers = ['', '', 'https://news.example/', 'https://mail.example/', 'https://social.example/feed']
const versions = Array.from({ length: 20 }, (_, at) => 125 + at)

/** Request headers for a hundred browsers in several languages. */
export const browserHeads: readonly string[] = systems.flatMap((system, at) =>
  versions.map((version) => {
    const tail = 'AppleWebKit/537.36 (KHTML, like Gecko)'
    const agent = `Mozilla/5.0 (${system}) ${tail} Chrome/${version}.0.0.0 Safari/537.36`
    const language = languages[(at + version) % languages.length] as string
    return headOf(agent, language, referrers[version % referrers.length] as string)
  }),
)

function headOf(agent: string, language: string, referrer: string): string {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
  const referring = referrer === '' ? '' : `Referer: ${referrer}\r\n`
  return `User-Agent: ${agent}\r\nAccept: ${accept}\r\nAccept-Language: ${language}\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n${referring}Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n`
}

/** Links that fit into any cache. */
const cachedLinks = 300

const visit = { ...read, seed: 'links', listener: 'redirect', status: 302, leaves: 'clicks' } as const

export const visitCases: readonly Case[] = [
  {
    ...visit,
    name: 'visit-memory',
    title: 'visit: link in memory',
    calls: (stock) => visitsOf(stock, someLinks(stock), browserHeads),
  },
  {
    ...visit,
    leaves: 'nothing',
    comparedWith: 'visit-memory',
    name: 'visit-uncounted',
    title: 'visit: homepage, no click',
    calls: (stock) => {
      const [hosts, { domains }] = [new HostNames(), contentsOf(stock.kind, stock.records)]
      return () => visitTo(hosts.of(1 + below(Math.min(domains, cachedLinks))), '', anyOf(browserHeads))
    },
  },
  {
    ...visit,
    name: 'visit-zipf',
    title: 'visit: as visits fall',
    calls: (stock) => visitsOf(stock, zipf(stock.records), browserHeads),
  },
  {
    ...visit,
    pace: 'half',
    name: 'visit-paced',
    title: 'visit: as visits fall, half pace',
    calls: (stock) => visitsOf(stock, zipf(stock.records), browserHeads),
  },
  {
    ...visit,
    name: 'visit-even',
    title: 'visit: drawn evenly',
    calls: (stock) => visitsOf(stock, evenly(stock.records), browserHeads),
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
      return () => visitTo(hosts.of(1 + 2 * below(domains / 2)), `none-${serial()}`, anyOf(browserHeads))
    },
  },
  {
    ...visit,
    status: 404,
    leaves: 'nothing',
    name: 'visit-unknown-host',
    title: 'visit: unknown host',
    calls: () => () => visitTo(`${serial()}.example`, 'welcome', anyOf(browserHeads)),
  },
]

/** Returns a generator of a few links, scattered over all. */
function someLinks({ records }: Stock): () => number {
  const count = Math.min(cachedLinks, records)
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
