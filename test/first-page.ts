import type { PageRequest } from '../src/storage/port.ts'

/** The request for the first page with all domains or spaces. */
export const firstPage = {
  search: [],
  searchIn: ['name'],
  filter: {},
  sortBy: 'id',
  direction: 'asc',
  limit: 10,
  offset: 0,
  after: null,
} as const satisfies PageRequest
