/** A redirect server over links in memory, for tests without a database. */

import assert from 'node:assert/strict'
import type { Agent, Server } from 'node:http'
import { after } from 'node:test'
import { Countries } from '../src/analytics/capture/countries.ts'
import { createSemaphores } from '../src/app/semaphores.ts'
import { Overload } from '../src/http/overload.ts'
import { Proxies } from '../src/http/proxies.ts'
import { RequestCounts } from '../src/http/request-log.ts'
import { foldCase } from '../src/lib/text.ts'
import { type AppLinks, noAppLinks } from '../src/names/app-links.ts'
import { shortUrls } from '../src/names/short-url.ts'
import { logTo } from '../src/process/log.ts'
import { prepareRedirect } from '../src/redirect/redirects.ts'
import { redirectServer } from '../src/redirect/server.ts'
import type { ServedDomain, ServedLink } from '../src/redirect/store.ts'
import { VisitorSources } from '../src/redirect/visitor-sources.ts'
import { newVisitCounts, type VisitCounts } from '../src/redirect/visits.ts'
import { type Answer, type Request, sendRequest } from './client.ts'
import { listenOn } from './servers.ts'

export type VisitRequest = Request & { readonly method?: string; readonly agent?: Agent }

/** A link. Missing fields have their default values. */
export type LinkFields = Partial<Omit<ServedLink, 'id' | 'destinations'>> & {
  readonly alias: string
  readonly url: string
  readonly redirect_status?: number
}

export interface DomainFields extends Partial<Pick<ServedDomain, 'homepage_url' | 'not_found_url'> & AppLinks> {
  readonly links?: readonly LinkFields[]
}

function servedLink({ url, redirect_status = 302, ...fields }: LinkFields, id: number): ServedLink {
  return {
    id,
    addressId: null,
    disabled: false,
    active_period_start_at: null,
    active_period_end_at: null,
    clicks_limit: null,
    clicks: 0,
    expiration_url: null,
    redirect_password: null,
    forward_query: false,
    destinations: [prepareRedirect(url, redirect_status)],
    rules: null,
    account_id: 1,
    ...fields,
  }
}

/** Creates a directory with these domains and links. */
function directoryOf(domains: Readonly<Record<string, DomainFields>>) {
  const served = new Map<string, ServedDomain & AppLinks>()
  const links = new Map<string, ServedLink>()
  for (const [name, { links: of = [], ...fields }] of Object.entries(domains)) {
    const domain = {
      ...{ id: served.size + 1, name, homepage_url: null, not_found_url: null, updated_at: '' },
      ...{ has_app_links: 1, ...noAppLinks, ...fields },
    }
    served.set(name, domain)
    for (const link of of) {
      const key = `${domain.id} ${foldCase(link.alias)}`
      links.set(key, servedLink(link, links.size + 1))
    }
  }
  return {
    databaseId: () => 'test',
    domainNamed: (name: string) => served.get(name),
    findAppLinks: ({ name }: ServedDomain) => served.get(name) ?? noAppLinks,
    findLink: ({ id }: ServedDomain, alias: string) => links.get(`${id} ${foldCase(alias)}`) ?? null,
  }
}

export interface TestListener {
  readonly server: Server
  readonly port: number
  /** The links that were clicked, by id, in order. */
  readonly clicks: number[]
  readonly counts: VisitCounts
  readonly logs: Readonly<Record<string, unknown>>[]
  /** Requests a URL such as `http://go.acme.com/summer`. */
  visit(url: string, request?: VisitRequest): Promise<Answer>
}

/** Starts a redirect server. Links with a limit have `left` clicks together. No link is found before `lookup` resolves. */
export async function startVisitors(
  domains: Readonly<Record<string, DomainFields>>,
  { left = 0, trustProxy = false as false | number, maxConnections = 1_000, lookup = Promise.resolve() } = {},
): Promise<TestListener> {
  const directory = directoryOf(domains)
  const clicks: number[] = []
  const counts = newVisitCounts()
  const logs: Readonly<Record<string, unknown>>[] = []
  let clicksLeft = left
  const { server } = redirectServer({
    semaphores: createSemaphores(),
    directory: {
      ...directory,
      findLink: (domain, alias) => lookup.then(() => directory.findLink(domain, alias)),
      isUsedUp: async () => clicksLeft <= 0,
    },
    onClick: (click) => void (click.class === 'person' && clicks.push(click.link)),
    takeClick: async () => clicksLeft-- > 0,
    countryHeader: null,
    sources: new VisitorSources({
      loadCountries: async () => Countries.readBundled(),
      findSalt: () => undefined,
      onProblem: (error) => assert.fail(String(error)),
    }),
    shortUrl: shortUrls('https://{domain}'),
    visits: counts,
    logger: logTo({ write: (line) => void logs.push(JSON.parse(line)) }, 'info'),
    counts: new RequestCounts(),
    proxies: new Proxies(trustProxy),
    overload: new Overload(),
    maxConnections,
    isSecret: () => false,
  })
  const port = await listenOn({ after }, server)
  return { server, port, clicks, counts, logs, visit: (url, request) => visit(port, url, request) }
}

/** Requests the URL from the redirect server at the port. */
export function visit(
  port: number,
  url: string,
  { method = 'GET', agent, ...request }: VisitRequest = {},
): Promise<Answer> {
  const [, host = '', path = ''] = /^https?:\/\/([^/]*)(.*)$/.exec(url) ?? []
  const headers = { host, 'user-agent': person, ...request.headers }
  return sendRequest({ agent, port, method, path: path || '/' }, { key: null, ...request, headers })
}

/** A user agent of people. */
export const person = 'Mozilla/5.0 (X11; Linux x64; rv:140.0) Gecko/20100101 Firefox/140.0'
