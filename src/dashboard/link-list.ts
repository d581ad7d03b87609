/** The list of links, and its file, which has the same filters. */
import { hash } from 'node:crypto'
import type { Fields } from '../http/form-encoding.ts'
import { linkListQuery, linkPageRequest } from '../links/activity.ts'
import { listLinks } from '../links/link-list.ts'
import type { Storage } from '../storage/port.ts'
import { ListState } from './lists.ts'

export const linkFilePath = '/app/links.csv'

/** Returns the state of the list of links, which has more filters than in the API. Throws `validation_failed`. */
export function linkListState(path: string, given: Fields): ListState {
  return new ListState(path, given, linkListQuery, linkPageRequest)
}

/** Returns the state of the list of links at its path with the query. Throws `validation_failed`. */
export function linkListAt(href: string): ListState {
  const { pathname, searchParams } = new URL(href, 'http://own.invalid')
  return linkListState(pathname, Object.fromEntries(searchParams))
}

/** Returns how many archived links match a list that omits them, up to `countedMatches` if it counts; 0 for other lists. */
export async function countArchived(storage: Storage, account: number, list: ListState): Promise<number> {
  if (!['', 'false'].includes(list.filterValue('archived'))) return 0
  const { request } = linkListAt(list.href({ archived: 'true' }))
  return (await listLinks(storage, account, { ...request, limit: 1 })).total
}

/** Returns a number of links with a hash of some. A form has it so that people change only links that they have seen. */
export function fingerprint(links: readonly { readonly id: number }[], total = links.length): string {
  const ids = links.map(({ id }) => id).sort((a, b) => a - b)
  return `${total}-${hash('sha256', ids.join(), 'base64url').slice(0, 12)}`
}

/** Returns the URL of the file with the links that match the filters of a list. */
export function linkFileHref(list: ListState): string {
  return list.href({ sort_by: null, sort: null, per_page: null }).replace('/app/links', linkFilePath)
}
