/** `npm test` starts one PostgreSQL for all of its processes. */
import { prepareServer, type TestServer } from './postgres.ts'

let server: TestServer | undefined

export async function globalSetup(): Promise<void> {
  server = await prepareServer()
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
