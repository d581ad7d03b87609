import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const callersId = /^[\w.-]{1,64}$/
const processId = randomBytes(9).toString('base64url')
let requests = 0

/** The caller's own `X-Request-Id` where it is harmless, else a new one, unique across processes. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && callersId.test(sent) ? sent : newRequestId()
}

export function newRequestId(): string {
  requests += 1
  return `${processId}-${requests.toString(36)}`
}
