import type { Exchange } from '../http/exchange.ts'

/** The public address of the API for links in answers, without a slash at its end. */
export type PublicAddress = (exchange: Exchange) => string

/** `baseUrl` where the operator set one, else what the request was sent to. */
export function publicAddress(baseUrl: string | null): PublicAddress {
  if (baseUrl !== null) return () => baseUrl
  return (exchange) => `${exchange.protocol.toLowerCase()}://${hostOf(exchange)}`
}

/** The Host header was checked on arrival; HTTP/1.0 may have none. */
function hostOf({ host, request }: Exchange): string {
  if (host !== '') return host
  const { localAddress = 'localhost', localPort } = request.socket
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}
