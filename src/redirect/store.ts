/** What visitors are served, of whatever account: the host name decides, and visitors have no key. */
import type { Db } from '../storage/port.ts'
import { type DomainRow, domainById, domainsByIdAfter, type LinkRow, linkByAlias } from './statements.ts'

/** The domain's link with this folded alias. */
export async function findLink(db: Db, domain: number, alias: string): Promise<LinkRow | undefined> {
  const [link] = await db.all(linkByAlias, { domain, alias })
  return link
}

/** The domains that are served whose ids come after `after`, in their order; at most `limit`. */
export function servedDomainsAfter(db: Db, after: number, limit: number): Promise<DomainRow[]> {
  return db.all(domainsByIdAfter, { after, limit })
}

/** Those of the domains with these ids that are served. */
export async function servedDomains(db: Db, ids: readonly number[]): Promise<DomainRow[]> {
  const found = await Promise.all(ids.map((id) => db.all(domainById, { id })))
  return found.flat()
}
