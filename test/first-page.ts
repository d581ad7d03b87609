import type { PageRequest } from '../src/storage/port.ts'

/** The first page of all domains or spaces, and what lists ask for that say nothing else. */
export const firstPage = {
  ...{ search: null, searchIn: ['name'], filter: {} },
  ...{ sortBy: 'id', direction: 'asc', limit: 10, offset: 0, after: null },
} as const satisfies PageRequest
