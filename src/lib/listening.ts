/** Whether a server listens at a URL. */
import { once } from 'node:events'
import { connect } from 'node:net'

/** Returns false if the connection is refused. Slow and unknown hosts count as listening: browsers may know another way. */
export async function isListening({ hostname, port, protocol }: URL): Promise<boolean> {
  const defaultPort = protocol === 'https:' ? 443 : 80
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(1_000) })
    return true
  } catch (error) {
    return !isRefused(error)
  } finally {
    socket.destroy()
  }
}

/** Whether an error means that nothing listens. A name with several addresses has an error for each. */
function isRefused(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefused)
  return /^(?:ECONNREFUSED|EADDRNOTAVAIL)$/.test((error as NodeJS.ErrnoException).code ?? '')
}
