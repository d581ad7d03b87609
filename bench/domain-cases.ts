/**
 * The API at work on domains.
 */
import { generateKey } from '../src/keys/key.ts'
import { anyOf, anyRecord, type Case, get, read, send, serial } from './case.ts'
import { below, brands, rarePartOf, tokenOf } from './records.ts'

const domains = '/api/v1/domains'
const search = { ...read, leaves: 'questions' } as const
const write = { ...read, leaves: 'unindexed records' } as const

export const domainCases: readonly Case[] = [
  {
    ...read,
    name: 'show',
    title: 'show',
    calls: (stock) => () => get(stock, `${domains}/${anyRecord(stock)}`),
  },
  {
    ...read,
    name: 'list',
    title: 'list of 10, with total',
    calls: (stock) => () => get(stock, domains),
  },
  {
    ...search,
    name: 'search-rare',
    title: 'search, one match',
    calls: (stock) => () => get(stock, `${domains}?search=${encodeURIComponent(rarePartOf(anyRecord(stock)))}`),
  },
  {
    ...search,
    main: false,
    name: 'search-dense',
    title: 'search, 1 in 16 matches',
    calls: (stock) => () => get(stock, `${domains}?search=${encodeURIComponent(anyOf(brands))}`),
  },
  {
    ...search,
    name: 'short-search',
    title: 'search, 1–2 characters',
    calls: (stock) => () => get(stock, `${domains}?search=${tokenOf(anyRecord(stock)).slice(0, 1 + below(2))}`),
  },
  {
    ...read,
    status: 401,
    name: 'unknown-key',
    title: 'refused: unknown key',
    calls: () => {
      const keys = Array.from({ length: 1_000 }, generateKey)
      return () => get({ secret: anyOf(keys) }, `${domains}/1`)
    },
  },
  {
    ...read,
    main: false,
    status: 401,
    name: 'new-key',
    title: 'refused: a key never seen',
    calls: () => {
      // More keys than the cache holds, so that each is evicted before its next use.
      const keys = Array.from({ length: 50_000 }, generateKey)
      let next = 0
      return () => get({ secret: keys[next++ % keys.length] as string }, `${domains}/1`)
    },
  },
  {
    ...read,
    main: false,
    status: 401,
    name: 'mistyped-key',
    title: 'refused: wrong checksum',
    calls: ({ secret }) => {
      const mistyped = secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
      return () => get({ secret: mistyped }, `${domains}/1`)
    },
  },
  {
    ...read,
    main: false,
    status: 422,
    name: 'bad-query',
    title: '422: per_page=7',
    calls: (stock) => () => get(stock, `${domains}?per_page=7`),
  },
  {
    ...read,
    status: 422,
    name: 'bad-form',
    title: '422: two bad fields',
    calls: (stock) => () =>
      send(stock, 'POST', domains, 'name=https%3A%2F%2Facme.com%2Fx&homepage_url=ftp%3A%2F%2Facme.com'),
  },
  {
    ...read,
    name: 'update',
    title: 'update',
    calls: (stock) => () =>
      send(stock, 'PATCH', `${domains}/${anyRecord(stock)}`, `homepage_url=https%3A%2F%2Facme.com%2F${serial()}`),
  },
  {
    ...write,
    status: 201,
    name: 'store',
    title: 'store',
    calls: (stock) => () => {
      const name = `new-${serial()}.${anyOf(brands.slice(0, 15))}.com`
      return send(stock, 'POST', domains, `name=${name}&homepage_url=https%3A%2F%2Facme.com%2Fwelcome`)
    },
  },
  {
    ...write,
    status: 204,
    usesUp: true,
    name: 'delete',
    title: 'delete',
    calls: (stock) => () => ({ ...get(stock, `${domains}/${stock.spare.pop()}`), method: 'DELETE' }),
  },
]
