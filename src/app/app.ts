import { clickTransfer } from '../analytics/transfer.ts'
import type { ListenerName } from '../config/listeners.ts'
import { domainTransfer } from '../domains/transfer.ts'
import type { Histogram } from '../histogram.ts'
import { Proxies } from '../http/client-address.ts'
import type { Listener } from '../http/listener.ts'
import { Overload } from '../http/overload.ts'
import { RequestCounts } from '../http/request-metrics.ts'
import type { Router } from '../http/router.ts'
import { hasKey } from '../keys/key.ts'
import type { LinkActions } from '../links/actions.ts'
import { linkTransfer } from '../links/transfer.ts'
import { opsListener } from '../ops/listener.ts'
import type { Directory } from '../redirect/directory.ts'
import type { VisitCounts } from '../redirect/visit-counts.ts'
import { hasToken } from '../sessions/token.ts'
import { spaceTransfer } from '../spaces/transfer.ts'
import { apiOf } from './api.ts'
import type { AppOptions } from './options.ts'
import { redirectOf } from './redirect.ts'

/** Everything that one process serves. */
export interface App {
  readonly listeners: Readonly<Record<ListenerName, Listener>>
  /** The routes of the API, what can be done to records, and what requests come to: for tests. */
  readonly router: Router
  readonly actions: { readonly links: LinkActions }
  readonly counts: RequestCounts
  readonly loopDelays: Histogram
  readonly visits: VisitCounts
  /** What visitors are served from. */
  readonly directory: Directory
  /** Loads what visitors are served from. To be called before the app listens to them. */
  load(): Promise<void>
  /** To be called once everything is loaded: from now on, requests that would have to wait long are refused. */
  begin(): void
  /** Ends the work that goes on beside the requests. To be called after the listeners have drained. */
  close(): Promise<void>
}

/** What exports and imports carry: each kind of record after those that it refers to, and then what tells more of them. */
export const transferables = [domainTransfer, spaceTransfer, linkTransfer, clickTransfer]

/** Whether the text holds a secret, which no log may have. */
const isSecret = (text: string) => hasKey(text) || hasToken(text)

/** Puts everything together. Tests use the same function; there is no other app. */
export function buildApp(options: AppOptions): App {
  const { storage } = options
  const shared = {
    counts: new RequestCounts(),
    proxies: new Proxies(options.trustProxy),
    overload: new Overload(),
    isSecret,
  }
  const { counts, overload } = shared
  const redirect = redirectOf(options, shared)
  const { directory, clicks, visits } = redirect
  const api = apiOf(options, shared, redirect)
  const ops = opsListener({
    counts,
    loopDelays: overload.delays,
    visits,
    meters: { database: storage.meters, directory: directory.meters, clicks: clicks.meters, sink: clicks.sinkMeters },
    isServed: (domain) => directory.hasDomain(domain.toLowerCase()),
    storage,
    listener: api.listener,
    log: options.log,
    hostNames: options.opsHosts,
    isSecret,
  })
  return {
    listeners: { api: api.listener, redirect: redirect.listener, ops },
    router: api.router,
    actions: api.actions,
    ...{ counts, visits, directory, loopDelays: overload.delays },
    load: () => directory.begin(),
    begin: () => {
      overload.begin()
      clicks.begin({ expectsClicks: redirect.listener.server.listening })
      api.begin()
    },
    close: async () => {
      overload.close()
      await directory.close()
      await clicks.close()
      await api.close()
    },
  }
}
