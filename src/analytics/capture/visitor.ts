import { hash } from 'node:crypto'
import { addressIn } from '../../lib/ip-address.ts'
import type { Visit } from './visit.ts'

/** 48 bits: among a million visitors of a link, two have the same number once in 500 days. */
const digits = 12

/**
 * A number below 2^48 that stands for a visitor of a link under a secret salt: the same for the same link, address and
 * user agent. Without the salt it cannot be told whose it is.
 */
export function visitorOf(visit: Pick<Visit, 'link' | 'address' | 'userAgent'>, salt: Uint8Array): number {
  // No two visits give the same text: only the user agent, which comes last, may have spaces.
  const text = `${salt.toHex()} ${visit.link} ${addressIn(visit.address)} ${visit.userAgent}`
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, digits), 16)
}
