import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const latest = Symbol('latest response')

type Followed = Socket & { [latest]?: ServerResponse }

/**
 * Remembers the latest response of each connection. A set of all that are under way would not do: one that is added to
 * and deleted from all the time is copied again and again, and its old copies keep thousands of responses alive.
 */
export function followResponses(server: Server): void {
  server.prependListener('request', ({ socket }: { socket: Followed }, response) => {
    socket[latest] = response
  })
}

/**
 * The response that the connection waits for; undefined when it waits for none. Of requests that were sent at once, that
 * of the last: answers leave in order.
 */
export function awaitedResponse({ [latest]: response }: Followed): ServerResponse | undefined {
  return response === undefined || response.closed ? undefined : response
}
