import type { Handler } from '../http/exchange.ts'
import { addHeader, sendJson } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { isReady, type Storage } from '../storage/port.ts'

/** Adds `GET /health`: 200 if the database responds, even if its disk is full; otherwise 503. */
export function healthRoute(routes: Router, storage: Storage): void {
  const handler: Handler = async (exchange) => {
    const condition = await storage.condition()
    addHeader(exchange, 'cache-control', 'no-store')
    const body = condition === 'ok' ? '{"status":"ok"}' : `{"status":"degraded","reason":"${condition}"}`
    return sendJson(exchange, isReady(condition) ? 200 : 503, body)
  }
  routes.add('GET', '/health', handler, { isAlwaysServed: true })
}
