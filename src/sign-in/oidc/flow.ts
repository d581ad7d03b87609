/** A sign-in that has begun: a cookie in the browser, so that requests without a session store nothing. */

import { readCookie, setCookie } from '../../http/cookies.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { FlowSecrets } from './client.ts'

/** What a sign-in is for: a session, joining with the opened invitation, or connecting the person with this id. */
export type Purpose = 'sign-in' | 'join' | number

export interface Flow extends FlowSecrets {
  readonly purpose: Purpose
  /** The page to open afterwards. */
  readonly next: string
}

/** Seconds. */
const maxAge = 600

/** With the prefix `__Host-`, no other host can set the cookie. */
function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-waymark_oidc' : 'waymark_oidc'
}

/** Stores a sign-in for 10 minutes. It replaces one that has begun before. */
export function setFlowCookie(exchange: Exchange, isSecure: boolean, flow: Flow): void {
  const { state, nonce, verifier, purpose, next } = flow
  const value = Buffer.from(JSON.stringify([state, nonce, verifier, purpose, next])).toString('base64url')
  setCookie(exchange, cookieName(isSecure), value, { isSecure, maxAge })
}

/** Returns the sign-in of this browser with this state, and deletes it, so that a response is used once. */
export function takeFlowCookie(exchange: Exchange, isSecure: boolean, state: unknown): Flow | undefined {
  const value = readCookie(exchange, cookieName(isSecure))
  if (value === undefined) return undefined
  setCookie(exchange, cookieName(isSecure), '', { isSecure, maxAge: 0 })
  const flow = parse(Buffer.from(value, 'base64url').toString())
  return flow?.state === state ? flow : undefined
}

function parse(text: string): Flow | undefined {
  try {
    const [state, nonce, verifier, purpose, next]: unknown[] = JSON.parse(text)
    const isFlow = [state, nonce, verifier, next].every((each) => typeof each === 'string' && each !== '')
    if (!isFlow || !(purpose === 'sign-in' || purpose === 'join' || Number.isSafeInteger(purpose))) return undefined
    return { state, nonce, verifier, purpose, next } as Flow
  } catch {
    return undefined
  }
}
