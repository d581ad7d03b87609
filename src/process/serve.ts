import { flushCompileCache } from 'node:module'
import type { Logger } from 'pino'
import { buildApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { opsServer } from '../ops/server.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/port.ts'
import { isWithoutKeys, makeFirstKey, registerBootstrapKey } from './first-key.ts'
import { greet, greeting, type KeyNews } from './greeting.ts'
import { ensureFree, listen } from './listen.ts'
import { openLog } from './log.ts'
import { endInGoodOrder, type Parts } from './shutdown.ts'
import { announce, hasOwnSocket, isFirst, isSupervisor, opsPlaces, opsPrefix, superviseWorkers } from './workers.ts'

/** Starts the server, which runs until the process is told to stop. When it cannot start, says why and exits with 1. */
export async function serve(): Promise<void> {
  try {
    await start()
  } catch (error) {
    if (!(error instanceof StartupFailure || error instanceof Failure)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

async function start(): Promise<void> {
  const config = readConfig()
  if (isSupervisor(config.workers)) {
    await ensureFree([config, ...opsPlaces(config)])
    return superviseWorkers(config, openLog(config.logLevel))
  }
  const storage = await openStorage(config.storage)
  const log = openLog(config.logLevel)
  const { logger } = log
  const app = buildApp({ ...config, storage, logger })
  endInGoodOrder({ app, storage, log })
  try {
    // The operator's own key is good from the first request on. One that is to be printed is made when it can be.
    if (isFirst()) await register(config, storage, logger)
    const listening = await listen(app.server, config, { reusePort: hasOwnSocket() })
    if (config.ops.port !== 0) await listenForOperator(config, { app, storage, log })
    announce(listening.port)
    if (isFirst()) greet(greeting(listening, await keyNews(storage)))
    storage.start((error) => logger.warn({ err: error }, 'the search index cannot be used; searches are slower'))
    // Node itself writes down what was compiled at a clean exit only.
    flushCompileCache()
    app.begin()
  } catch (error) {
    // Told to stop while it started: what closes already is no reason to fail.
    if (app.drain.isDraining) return
    await app.close()
    await storage.close()
    throw error
  }
}

async function listenForOperator({ ops }: Config, { app, storage, log }: Parts): Promise<void> {
  const server = opsServer({ ...app, storage, logger: log.logger })
  await listen(server, { ...ops, prefix: opsPrefix })
}

async function register({ bootstrapKey }: Config, storage: Storage, logger: Logger): Promise<void> {
  if (bootstrapKey === null || (await registerBootstrapKey(storage, bootstrapKey))) return
  logger.warn(
    'BOOTSTRAP_KEY is not a key of this database: it is registered at the first start only. Issue a key with "npx waymark keys create", or unset BOOTSTRAP_KEY.',
  )
}

async function keyNews(storage: Storage): Promise<KeyNews> {
  const secret = await makeFirstKey(storage)
  if (secret !== undefined) return { secret }
  return (await isWithoutKeys(storage)) ? 'none' : 'kept'
}
