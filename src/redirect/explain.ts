/** `GET /links/{id}/explain`: the response that a visitor would get. Nothing is counted. */

import { sendContent } from '../api/envelopes.ts'
import { type Operation, readId } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found } from '../errors.ts'
import { Type } from '../forms/json-schema.ts'
import { readCondition } from '../http/conditions.ts'
import type { OwnAnswers } from '../imports/proof.ts'
import { linkOperations } from '../links/operations.ts'
import { encodeAlias, type ShortUrl } from '../names/short-url.ts'
import { failedConditions, noRule } from '../rules/decide.ts'
import {
  type AssumedVisit,
  type Explain,
  type Explanation,
  explainQuery,
  explanationSchema,
} from '../rules/explanation.ts'
import type { Db } from '../storage/port.ts'
import { Loops } from './loops.ts'
import { buildLocation, findRedirect, forwardedQuery, type LinkResolution, notFound, resolveLink } from './resolve.ts'
import { findServedDomain, findServedLink, findServedLinkById, type ServedDomain } from './store.ts'
import { findVisited } from './visited-link.ts'
import { Visitor } from './visitor.ts'
import { VisitorSources } from './visitor-sources.ts'

const example: Explanation = {
  status: 302,
  location: 'https://example.com/de',
  kind: 'redirect',
  class: 'person',
  rule: 'Germany',
  variant: null,
  checks: [
    { rule: 'iPhone', matches: false, failed: ['operating_systems'] },
    { rule: 'Germany', matches: true, failed: [] },
  ],
}

export const explainLink: Operation = {
  id: 'explainLink',
  method: 'GET',
  path: '/links/:id/explain',
  tag: linkOperations.show.tag,
  summary: 'Explain a link',
  description:
    'Shows the response that a visitor of the short URL would get, the rule that decided, and the conditions of each rule that don’t match. Counts nothing. Variants are drawn at random.',
  scope: 'links:read',
  query: explainQuery,
  headers: ['If-Match', 'If-None-Match'],
  refused: { country: 'Germany', at: 'tomorrow' },
  success: {
    status: 200,
    description: 'The response, and why.',
    schema: Type.Object({ data: explanationSchema }),
    example: { data: example },
    headers: ['ETag'],
  },
  failures: ['not_found', 'precondition_failed', 'validation_failed'],
}

/** Adds `GET /links/{id}/explain`. */
export function explainRoute(api: Api, explain: Explain): void {
  api.add(explainLink, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const data = await explain(actor.account, readId(exchange, 'link'), exchange.query)
    return sendContent(exchange, { data }, condition)
  })
}

/** Returns what is needed to answer visits by what the database has. */
function servedBy(db: Db, shortUrl: ShortUrl) {
  const served = {
    domainNamed: (name: string) => findServedDomain(db, name),
    findLink: async (domain: ServedDomain, alias: string) => (await findServedLink(db, domain.id, alias)).link,
  }
  const sources = new VisitorSources({
    loadCountries: async () => ({ of: () => null }),
    findSalt: () => undefined,
    onProblem: () => undefined,
  })
  return { served, sources, loops: new Loops(served, sources, new URL(shortUrl('a', '')).port) }
}

/** Returns the function that explains visits by what the database has. */
export function explainer(db: Db, shortUrl: ShortUrl): Explain {
  const { sources, loops } = servedBy(db, shortUrl)
  return async (account, id, fields) => {
    const { link, domain } = found(await findServedLinkById(db, account, id), 'link')
    const assumed = explainQuery.check(fields)
    if (assumed instanceof Failure) throw assumed
    const visitor = toVisitor(assumed, sources)
    await sources.prepare(link, visitor)
    const resolution = resolveLink(link, domain, false, visitor)
    const redirect = findRedirect(resolution)
    const start = { domain, path: { kind: 'alias', alias: link.alias, asksForPreview: false }, link } as const
    const query = assumed.query ?? ''
    const forwarded = forwardedQuery(resolution, query)
    const isLoop = redirect !== null && (await loops.isLoop(start, redirect, forwarded, domain.name, visitor))
    const shown: LinkResolution = isLoop ? { kind: 'not_found', url: null } : resolution
    return {
      ...responseTo(shown, query),
      class: visitor.class,
      ...summarizeDecision(shown),
      checks: link.rules === null ? [] : failedConditions(link.rules, visitor),
    }
  }
}

/** Returns the function that tells what the redirect server answers at an alias, by what the database has. */
export function createOwnAnswers(db: Db, shortUrl: ShortUrl): OwnAnswers {
  const { served, sources, loops } = servedBy(db, shortUrl)
  const unknown = { status: pageStatuses.not_found, location: null }

  return async (name, alias) => {
    const domain = await served.domainNamed(name)
    if (domain === undefined) return [unknown, unknown]
    const { path, link } = await findVisited(served, domain, `/${encodeAlias(alias)}`)
    const answerTo = async (user_agent: string) => {
      const visitor = toVisitor({ ...noVisit, user_agent }, sources)
      await sources.prepare(link, visitor)
      const resolution = link === null ? notFound(domain) : resolveLink(link, domain, false, visitor)
      const redirect = findRedirect(resolution)
      const isLoop = redirect !== null && (await loops.isLoop({ domain, path, link }, redirect, '', name, visitor))
      const { status, location } = isLoop ? unknown : responseTo(resolution, '')
      return { status, location }
    }
    return [await answerTo(person), await answerTo(program)]
  }
}

/** User agents of a person and of a program. */
const [person, program] = ['Mozilla/5.0 (X11; Linux x86_64)', 'Waymark (bot)']
const noVisit: AssumedVisit = { country: null, user_agent: null, accept_language: null, query: null, at: null }

function toVisitor(
  { country, user_agent, accept_language, query, at }: AssumedVisit,
  sources: VisitorSources,
): Visitor {
  const headers = {
    country: country ?? '',
    'user-agent': user_agent ?? '',
    'accept-language': accept_language ?? '',
    // Otherwise, an old browser would be a program.
    accept: '*/*',
  }
  const atMs = at === null ? Date.now() : Date.parse(at)
  const request = { method: 'GET', headers, isHttps: false, atMs }
  const parts = { query: query ?? '', ipAddress: '', countryHeader: 'country', hasSentForm: false }
  return new Visitor({ ...request, ...parts }, sources)
}

/** The statuses of responses without a redirect. */
const pageStatuses = { password: 401, preview: 200, expired: 410, not_found: 404 } as const

function responseTo(resolution: LinkResolution, query: string) {
  const { kind } = resolution
  if (kind === 'redirect')
    return { status: resolution.redirect.status, location: buildLocation(resolution, query), kind }
  const redirect = findRedirect(resolution)
  return { status: redirect?.status ?? pageStatuses[kind], location: redirect?.location ?? null, kind }
}

function summarizeDecision(resolution: LinkResolution) {
  const { rule, variant } = resolution.kind === 'redirect' ? resolution.decision : noRule
  return { rule, variant }
}
