import { hash } from 'node:crypto'
import { addressIn } from '../../lib/ip-address.ts'
import type { Visit } from './visit.ts'

/** 48 bits: among a million visitors of a link, two have the same number once in 500 days. */
const digits = 12

/** The traits that distinguish the visitors of a link. */
export type VisitorTraits = Pick<Visit, 'link' | 'ipAddress' | 'userAgent'>

/** Returns a hash below 2^48 of the link, the IP address and the user agent of a visitor, with a secret salt. */
export function hashVisitor(visit: VisitorTraits, salt: Uint8Array): number {
  // The text is unambiguous: only the user agent, at its end, may have spaces.
  const text = `${salt.toHex()} ${visit.link} ${addressIn(visit.ipAddress)} ${visit.userAgent}`
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, digits), 16)
}

/** Returns the visitor's hash as a number from 0 up to 1. A visitor has the same one as long as the salt is the same. */
export function hashToFraction(visit: VisitorTraits, salt: Uint8Array): number {
  return hashVisitor(visit, salt) / 16 ** digits
}
