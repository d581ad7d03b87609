import type { FastifyInstance } from 'fastify'

export async function documents(app: FastifyInstance): Promise<void> {
  app.get('/', async (_, reply) => reply.redirect('/docs'))
}
