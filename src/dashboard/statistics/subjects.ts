/** The subjects of statistics, as pages name them. */
import type { Subject } from '../../analytics/statistics/store.ts'
import { domainRecords } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import { linkOf } from '../../links/schema.ts'
import { findLink } from '../../links/store.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { Place } from '../frame.ts'
import { idParam, type PageRequest, type Services } from '../pages.ts'
import { shortUrlText } from '../parts/links.ts'

/** The templates of the paths of subjects. */
export const homes = {
  account: '/app',
  domain: '/app/domains/:id',
  space: '/app/spaces/:id',
  link: '/app/links/:id',
} as const satisfies Record<Subject['scope'], string>

/** A link, a domain, a space or the account as pages about its clicks name it. */
export interface NamedSubject {
  readonly subject: Subject
  readonly path: string
  readonly place: Place
  /** Null for the account. */
  readonly name: string | null
  /** The start of the names of its files. */
  readonly fileName: string
}

/** Returns the requested subject. Throws `not_found` if the account has no such record. */
export async function requestedSubject(
  request: PageRequest,
  { storage, shortUrl }: Services,
  scope: Subject['scope'],
): Promise<NamedSubject> {
  const { account } = request
  if (scope === 'account')
    return { subject: { scope, id: account }, path: '/app', place: 'overview', name: null, fileName: '' }
  const id = idParam(request, scope)
  const place = `${scope}s` as const
  const named = { subject: { scope, id }, path: `/app/${place}/${id}`, place }
  if (scope === 'link') {
    const { record } = found(await findLink(storage, account, id), scope)
    return { ...named, name: shortUrlText(linkOf(record, shortUrl).short_url), fileName: `${record.alias}-` }
  }
  if (scope === 'domain') {
    const { record } = found(await domainRecords.find(storage, account, id), scope)
    return { ...named, name: record.name_unicode, fileName: `${record.name_unicode}-` }
  }
  const { name } = found(await spaceRecords.find(storage, account, id), scope).record
  return { ...named, name, fileName: `${name}-` }
}
