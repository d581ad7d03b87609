import { addHeader, sendJson } from '../http/answer.ts'
import type { Handler } from '../http/exchange.ts'
import type { Router } from '../http/router.ts'
import type { Storage } from '../storage/port.ts'

/** `GET /health`: 200 when the database answers, 503 when it does not. */
export function healthRoute(router: Router, storage: Storage): void {
  const handler: Handler = async (exchange) => {
    await storage.ping()
    addHeader(exchange, 'cache-control', 'no-store')
    return sendJson(exchange, 200, '{"status":"ok"}')
  }
  router.add(['GET'], '/health', handler, { isAlwaysServed: true })
}
