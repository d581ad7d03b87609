import type { FastifyRequest } from 'fastify'

/** The public address of the API for links in answers, without a slash at its end. */
export type PublicAddress = (request: FastifyRequest) => string

/** `baseUrl` where the operator set one, else what the request was sent to. */
export function publicAddress(baseUrl: string | null): PublicAddress {
  if (baseUrl !== null) return () => baseUrl
  return (request) => `${request.protocol.toLowerCase()}://${hostOf(request)}`
}

/** The Host header was checked on arrival; HTTP/1.0 may have none. */
function hostOf({ host, raw }: FastifyRequest): string {
  if (host) return host
  const { localAddress = 'localhost', localPort } = raw.socket
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}
