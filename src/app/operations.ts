/** The operations of the API, for servers and for commands. */

import { statsRoutes } from '../analytics/statistics/routes.ts'
import { deleteLinkClicks, showStats } from '../analytics/statistics/schema.ts'
import {
  eventRoutes,
  exportEvents,
  listEvents,
  reversalOf,
  reversalRoutes,
  reverseEvents,
  showEvent,
} from '../api/events.ts'
import type { ResourceHandlers } from '../api/handlers.ts'
import type { Operation } from '../api/operations.ts'
import { showOwnKey } from '../api/own-key.ts'
import type { Api } from '../api/routes.ts'
import { resourceRoutes } from '../api/routes.ts'
import { domainOperations } from '../domains/operations.ts'
import type { Reversals } from '../events/reversal.ts'
import type { IdempotentRequests } from '../idempotency/store.ts'
import type { ImportActions } from '../imports/actions.ts'
import { importRoutes } from '../imports/routes.ts'
import { importOperations } from '../imports/schema.ts'
import { AddressActions } from '../links/address-actions.ts'
import { addressRoutes } from '../links/address-routes.ts'
import { addressOperations } from '../links/address-schema.ts'
import { bulkOperations } from '../links/bulk-schema.ts'
import { exportLinks, linkExportRoute } from '../links/export.ts'
import { linkWarnings } from '../links/link-warnings.ts'
import { linkOperations } from '../links/operations.ts'
import { linkQrRoute, showLinkQr } from '../links/qr.ts'
import { linkHandlers } from '../links/routes.ts'
import type { Link } from '../links/schema.ts'
import { invitationRoutes, memberRoutes } from '../members/routes.ts'
import { invitationOperations, memberOperations } from '../members/schema.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { explainLink, explainRoute } from '../redirect/explain.ts'
import type { Explain } from '../rules/explanation.ts'
import { spaceOperations } from '../spaces/operations.ts'
import type { Storage } from '../storage/port.ts'
import { tagMergeRoute } from '../tags/actions.ts'
import { mergeTag, tagOperations } from '../tags/operations.ts'
import type { buildActions } from './actions.ts'
import type { Semaphores } from './semaphores.ts'

export const reverseEvent = reversalOf({
  link: linkOperations.show.success,
  domain: domainOperations.show.success,
  space: spaceOperations.show.success,
  tag: tagOperations.show.success,
})

/** Every operation of the API, in the order of the documents. */
export const operations: readonly Operation[] = [
  ...Object.values(domainOperations),
  ...Object.values(spaceOperations),
  ...Object.values(tagOperations),
  mergeTag,
  ...Object.values(linkOperations),
  ...Object.values(addressOperations),
  ...bulkOperations,
  exportLinks,
  showLinkQr,
  explainLink,
  showStats,
  deleteLinkClicks,
  listEvents,
  exportEvents,
  showEvent,
  reverseEvent,
  reverseEvents,
  ...Object.values(memberOperations),
  ...Object.values(invitationOperations),
  ...Object.values(importOperations),
  showOwnKey,
]

export interface OperationParts {
  readonly storage: Storage
  readonly idempotentRequests: IdempotentRequests
  readonly actions: ReturnType<typeof buildActions>['actions']
  readonly reversals: Reversals
  readonly imports: ImportActions
  readonly shortUrl: ShortUrl
  readonly explain: Explain
  readonly historyDays: number
  readonly semaphores: Pick<Semaphores, 'downloads' | 'plans'>
}

/** Adds all operations that commands can call, too. Servers add bulk requests, deleting clicks, and `/me`. */
export function addOperations(api: Api, parts: OperationParts): void {
  const { storage, idempotentRequests, actions, reversals, shortUrl, historyDays, semaphores } = parts
  const { domains: domain, spaces: space, tags: tag } = actions
  const link: ResourceHandlers<Link> = {
    ...linkHandlers(storage, actions.links, shortUrl),
    warnings: linkWarnings(storage, shortUrl),
  }
  resourceRoutes(api, storage, idempotentRequests, domainOperations, domain)
  resourceRoutes(api, storage, idempotentRequests, spaceOperations, space)
  resourceRoutes(api, storage, idempotentRequests, tagOperations, tag)
  tagMergeRoute(api, tag)
  resourceRoutes(api, storage, idempotentRequests, linkOperations, link)
  linkExportRoute(api, storage, shortUrl, semaphores.downloads)
  addressRoutes(api, storage, idempotentRequests, new AddressActions(storage, actions.links), shortUrl)
  linkQrRoute(api, storage, shortUrl)
  explainRoute(api, parts.explain)
  statsRoutes(api, storage, shortUrl)
  eventRoutes(api, storage, { shortUrl, historyDays }, semaphores.downloads)
  reversalRoutes({ api, storage, reversals, reverseEvent, records: { link, domain, space, tag } })
  memberRoutes(api, storage)
  invitationRoutes(api, storage, idempotentRequests)
  importRoutes(api, parts.imports, idempotentRequests, semaphores.plans)
}
