/**
 * The API at work on links.
 */
import { anyRecord, type Case, get, read, type Stock, send } from './case.ts'
import { targetOf } from './link-records.ts'
import { below, tokenOf } from './records.ts'
import { contentsOf } from './seed.ts'

const links = '/api/v1/links'
const ofLinks = { ...read, seed: 'links' } as const

export const linkCases: readonly Case[] = [
  {
    ...ofLinks,
    name: 'link-show',
    title: 'link: show',
    calls: (stock) => () => get(stock, `${links}/${anyRecord(stock)}`),
  },
  {
    ...ofLinks,
    name: 'link-list',
    title: 'link: list of 10, with total',
    calls: (stock) => () => get(stock, links),
  },
  {
    ...ofLinks,
    main: false,
    name: 'link-by-clicks',
    title: 'link: the 10 most clicked',
    calls: (stock) => () => get(stock, `${links}?sort_by=clicks&sort=desc`),
  },
  {
    ...ofLinks,
    main: false,
    name: 'link-of-domain',
    title: 'link: list of a domain',
    calls: (stock) => () => get(stock, `${links}?domain_id=${anyDomain(stock)}`),
  },
  {
    ...ofLinks,
    main: false,
    leaves: 'questions',
    name: 'link-search',
    title: 'link: search, one match',
    calls: (stock) => () => get(stock, `${links}?search=${tokenOf(anyRecord(stock))}`),
  },
  {
    ...ofLinks,
    status: 201,
    leaves: 'unindexed records',
    name: 'link-store',
    title: 'link: store',
    calls: (stock) => () => {
      const form = `url=${encodeURIComponent(targetOf(below(1e9)))}&domain_id=${anyDomain(stock)}`
      return send(stock, 'POST', links, form)
    },
  },
]

function anyDomain({ kind, records }: Stock): number {
  return 1 + below(contentsOf(kind, records).domains)
}
