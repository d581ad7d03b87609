/** Error pages. They say what to do next. */
import type { Failure } from '../errors.ts'
import type { Exchange, FailureResponse } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import { html } from '../http/html.ts'
import { type Place, pageHeaders, renderBare } from './frame.ts'
import { linkButton } from './parts/buttons.ts'
import { formMessages } from './parts/fields.ts'
import { linkListReturnPath } from './return-path.ts'

/** Renders a failure as a page without a frame. */
export function renderFailurePage({ code, message, facts }: Failure, requestId: string): FailureResponse {
  const { status } = failures[code]
  const isNoPage = code === 'route_not_found'
  const title = isNoPage ? pageNotFound : failures[code].title
  // Only server errors are in the log.
  const request = status >= 500 ? html`<p>Request ID: <code>${requestId}</code></p>` : null
  const body = html`${isNoPage ? null : html`<p>${message}</p>`}${request}<p><a href="/app">Go to the overview</a></p>`
  const headers = {
    ...pageHeaders,
    ...(facts.retryAfter !== undefined && { 'retry-after': String(facts.retryAfter) }),
    ...(facts.allow !== undefined && { allow: facts.allow.join(', ') }),
  }
  return { status, headers, body: renderBare({ title, scheme: 'system', body }).text }
}

const pageNotFound = 'Page not found'

/** Returns the content of an error page with a link back to the list `next`. Returns null for server errors. */
export function failureContent(failure: Failure, { method, target }: Exchange, next: unknown) {
  const { status } = failures[failure.code]
  if (status >= 500) return null
  const [, , name] = target.split(/[/?]/)
  const place: Place = lists.find((list) => list === name) ?? 'overview'
  const href = place === 'links' ? linkListReturnPath(next) : place === 'overview' ? '/app' : `/app/${place}`
  const back = linkButton({ label: place === 'overview' ? 'Go to the overview' : `Go to ${place}`, href })
  const { title, sentences } = textFor(failure, method)
  const body = html`${sentences.map((sentence) => html`<p>${sentence}</p>`)}<div class="actions">${back}</div>`
  return { title, place, body, status }
}

const lists = ['links', 'domains', 'spaces', 'tags', 'keys', 'sessions'] as const

function textFor({ code, message, facts }: Failure, method: string) {
  if (code === 'route_not_found') return { title: pageNotFound, sentences: [] }
  if (code === 'not_found') return { title: 'Not found', sentences: [`${message} It may have been deleted.`] }
  const isInvalidUrl = method !== 'POST' && facts.violations !== undefined
  const title = method === 'POST' ? 'Nothing was changed' : 'This page can’t be shown'
  if (isInvalidUrl) return { title, sentences: ['The URL of this page has an invalid value.'] }
  return { title, sentences: facts.violations ? formMessages(facts.violations) : [message] }
}
