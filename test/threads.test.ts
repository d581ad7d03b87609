/** The threads and child processes of the server. */
import { test } from 'node:test'
import { checkThreads } from './every-thread.ts'
import { newDatabase } from './processes.ts'
import { startVisited } from './visited-server.ts'

test('each thread and child process works, and each file of the pages exists', async (t) => {
  const server = await startVisited(t, newDatabase(t).variables)
  await server.stored('/domains', { name: 'localhost' })
  await checkThreads(server, (path) => server.visit(`http://localhost${path}`))
})
