/** The list of links, and its file, which has the same filters. */
import type { Fields } from '../http/form-encoding.ts'
import { linkListQuery, linkPageRequest } from '../links/activity.ts'
import { ListState } from './lists.ts'

export const linkFilePath = '/app/links.csv'

/** Returns the state of the list of links, which has more filters than in the API. Throws `validation_failed`. */
export function linkListState(path: string, given: Fields): ListState {
  return new ListState(path, given, linkListQuery, linkPageRequest)
}

/** Returns the URL of the file with the links that match the filters of a list. */
export function linkFileHref(list: ListState): string {
  return list.href({ sort_by: null, sort: null, per_page: null }).replace('/app/links', linkFilePath)
}
