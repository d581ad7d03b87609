/** A sign-in that has begun: a cookie in the browser, so that requests without a session store nothing. */

import { HostCookie } from '../../http/cookies.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { FlowSecrets } from './client.ts'

/** What a sign-in is for: a session, joining with the opened invitation, or connecting the person with this id. */
export type Purpose = 'sign-in' | 'join' | number

export interface Flow extends FlowSecrets {
  readonly purpose: Purpose
  /** The page to open afterwards. */
  readonly next: string
}

const cookie = new HostCookie('waymark_oidc', 10 * 60)

/** Stores a sign-in for 10 minutes. Replaces an earlier sign-in of this browser. */
export function setFlowCookie(exchange: Exchange, isSecure: boolean, flow: Flow): void {
  const { state, nonce, verifier, purpose, next } = flow
  const value = Buffer.from(JSON.stringify([state, nonce, verifier, purpose, next])).toString('base64url')
  cookie.set(exchange, isSecure, value)
}

/** Returns the sign-in of this browser with this state, and deletes it, so that a response is used once. */
export function takeFlowCookie(exchange: Exchange, isSecure: boolean, state: unknown): Flow | undefined {
  const value = cookie.read(exchange, isSecure)
  if (value === undefined) return undefined
  cookie.clear(exchange, isSecure)
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
