import { addHeader, sendJson } from '../http/answer.ts'
import type { Routes } from '../http/router.ts'
import type { Storage } from '../storage/port.ts'

/** `GET /health`: 200 when the database answers, with `degraded` when it takes no writes; 503 when it does not answer. */
export function healthRoute(routes: Routes, storage: Storage): void {
  routes.add(['GET'], '/health', async (exchange) => {
    const condition = await storage.condition()
    addHeader(exchange, 'cache-control', 'no-store')
    sendJson(exchange, 200, condition === 'ok' ? '{"status":"ok"}' : `{"status":"degraded","reason":"${condition}"}`)
  })
}
