/** How failures are worded for people in the dashboard: as a page that says what to do next. */
import type { Failure } from '../errors.ts'
import type { WordedFailure } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import { html } from '../http/html.ts'
import { bareOf } from './frame.ts'
import { pageHeaders } from './policy.ts'

/** Words a failure as a page. */
export function wordForPeople({ code, message, facts }: Failure, requestId: string): WordedFailure {
  const { status } = failures[code]
  const title = code === 'route_not_found' ? 'There is no such page' : failures[code].title
  // Only what the server failed at is in the log.
  const request = status >= 500 ? html`<p>Request <code>${requestId}</code></p>` : null
  const body = html`<p>${message}</p>${request}<p><a href="/app">Go to the overview</a></p>`
  const headers = {
    ...pageHeaders,
    ...(facts.retryAfter !== undefined && { 'retry-after': String(facts.retryAfter) }),
    ...(facts.allow !== undefined && { allow: facts.allow.join(', ') }),
  }
  return { status, headers, body: bareOf({ title, scheme: 'system', body }) }
}
