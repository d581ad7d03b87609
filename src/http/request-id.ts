import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const harmless = /^[\w.-]{1,64}$/
const processId = randomBytes(9).toString('base64url')
let requests = 0

/**
 * The caller's own `X-Request-Id` if it is harmless and no secret, else a new one. Ids are logged and sent back, and an API
 * key or another secret that was sent in the wrong header must not be.
 */
export function requestIdOf(
  { headers }: Pick<IncomingMessage, 'headers'>,
  isSecret: (text: string) => boolean,
): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && harmless.test(sent) && !isSecret(sent) ? sent : newRequestId()
}

/** A request id that is unique across processes. */
export function newRequestId(): string {
  requests += 1
  return `${processId}-${requests.toString(36)}`
}
