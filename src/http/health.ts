import type { FastifyInstance } from 'fastify'
import type { Storage } from '../storage/port.ts'
import { addHeader, sendJson } from './answer.ts'

/** `GET /health`: 200 when the database answers, 503 when it does not. */
export function healthRoute(app: FastifyInstance, storage: Storage): void {
  app.get('/health', async (_, reply) => {
    await storage.ping()
    addHeader(reply, 'cache-control', 'no-store')
    sendJson(reply, 200, '{"status":"ok"}')
  })
}
