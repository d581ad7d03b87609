import { addHeader, sendJson } from '../http/answer.ts'
import type { Routes } from '../http/router.ts'
import type { Storage } from '../storage/port.ts'

/** `GET /health`: 200 when the database answers, 503 when it does not. */
export function healthRoute(routes: Routes, storage: Storage): void {
  routes.add(['GET'], '/health', async (exchange) => {
    await storage.ping()
    addHeader(exchange, 'cache-control', 'no-store')
    sendJson(exchange, 200, '{"status":"ok"}')
  })
}
