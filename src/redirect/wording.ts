/** How failures are worded for visitors: as a page, or as a problem object for clients that ask for JSON. */
import { Failure, linkExpired } from '../errors.ts'
import type { FailureResponse } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import { headersOf, problemOf } from '../http/problem.ts'
import { formPolicy, pagePolicy } from './page-style.ts'
import * as pages from './pages.ts'

export const noSuchLink = new Failure('not_found', 'There is no such link.')
export const passwordRequired = new Failure('password_required', 'This link asks for a password.')
export const wrongPassword = new Failure('password_required', 'That is not the password of this link.')

/** The fields of whatever is neither kept nor found by search engines. */
export const unkept = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
  'referrer-policy': 'strict-origin-when-cross-origin',
} as const

/** Words a failure for a visitor. */
export function wordForVisitors(failure: Failure, requestId: string, accept: string | undefined): FailureResponse {
  if (prefersJson(accept)) {
    const { status, headers, body } = problemOf(failure, requestId, accept)
    return { status, headers: { ...headers, ...unkept }, body }
  }
  const { status } = failures[failure.code]
  const headers = {
    ...headersOf(failure),
    ...unkept,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': failure.code === 'password_required' ? formPolicy : pagePolicy,
  }
  return { status, headers, body: bodyOf(failure, requestId) }
}

/** Whether an Accept header names JSON, and HTML only after it or not at all. */
function prefersJson(accept = ''): boolean {
  const json = accept.search(/\bapplication\/(?:problem\+)?json\b/i)
  const html = accept.search(/\btext\/html\b/i)
  return json >= 0 && (html < 0 || json < html)
}

function bodyOf(failure: Failure, requestId: string): string {
  switch (failure) {
    case noSuchLink:
      return pages.nothingHere
    case linkExpired:
      return pages.linkExpired
    case passwordRequired:
      return pages.passwordForm
    case wrongPassword:
      return pages.passwordFormAgain
    default:
      return failurePageOf(failure, requestId)
  }
}

function failurePageOf({ code, message }: Failure, requestId: string): string {
  const { status, title } = failures[code]
  const words = code === 'rate_limited' ? 'Too many attempts' : title
  // Only what the server failed at is in the log.
  return pages.failurePage(words, message, status >= 500 ? requestId : null)
}
