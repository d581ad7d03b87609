import { flushCompileCache } from 'node:module'
import type { Logger } from 'pino'
import { checkCountries } from '../analytics/capture/countries.ts'
import { type App, buildApp } from '../app/app.ts'
import { type Config, readConfig } from '../config/config.ts'
import type { ListenerConfig } from '../config/listeners.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { type InstanceAddresses, storeAddresses } from '../instance/store.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/port.ts'
import { createFirstAccess, findAccess, registerKey } from './access.ts'
import { type Addresses, dashboardUrl, greet, greeting } from './greeting.ts'
import { ensureFree, type Listening, listen } from './listen.ts'
import { openLog } from './log.ts'
import { stopOnSignals } from './shutdown.ts'
import {
  announce,
  hasOwnSocket,
  isFirst,
  isSupervisor,
  isWorker,
  listenersOfWorkers,
  superviseWorkers,
} from './workers.ts'

/** Starts the server, which runs until a signal stops it. If it can't start, prints the reason and exits with 1. */
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
  // The supervisor has checked the country database. A worker must start even if the file breaks later.
  const config = readConfig(undefined, isWorker() ? undefined : checkCountries)
  if (isSupervisor(config.workers)) {
    await ensureFree(listenersOfWorkers(config.listeners, config.workers))
    return superviseWorkers(config.listeners, config.workers, await openLog(config.logLevel))
  }
  const storage = await openStorage(config.storage)
  const log = await openLog(config.logLevel)
  const { logger } = log
  const app = buildApp({ ...config, opsHosts: opsHostsOf(config), storage, logger })
  stopOnSignals({ app, storage, log })
  try {
    // BOOTSTRAP_KEY must work from the first request on. A generated key is created when it can be printed.
    const registered = isFirst() ? await registerKey(storage, config.bootstrapKey, logger) : undefined
    if (config.listeners.some(({ name }) => name === 'redirect')) await app.load()
    const listening = await listenAll(config, app)
    announce(Object.fromEntries(listening.map(({ prefix, port }) => [prefix, port])))
    if (isFirst()) {
      const addresses = addressesOf(listening)
      const baseUrl = config.baseUrl ?? dashboardUrl(addresses.api)
      await recordAddresses(storage, { short_url: config.shortUrl, base_url: baseUrl }, logger)
      const first = registered ?? (await createFirstAccess(storage))
      greet(greeting(addresses, await findAccess(storage, first, baseUrl)))
      for (const warning of config.warnings) logger.warn(warning)
    }
    storage.start((error) => logger.warn({ err: error }, 'search index unusable; searches are slower'))
    // Node writes the compile cache only at a clean exit.
    flushCompileCache()
    app.begin()
  } catch (error) {
    // A signal during the start closes the services, which is not a failure.
    if (Object.values(app.listeners).some(({ isDraining }) => isDraining)) return
    for (const { server } of Object.values(app.listeners)) server.close()
    await app.close()
    await storage.close()
    throw error
  }
}

type Started = Listening & Pick<ListenerConfig, 'name' | 'prefix'>

function addressesOf(started: readonly Started[]): Addresses {
  const named = (wanted: ListenerConfig['name']) => started.find(({ name }) => name === wanted)
  return { api: named('api') as Listening, redirect: named('redirect') }
}

/** Starts the enabled listeners in order. */
async function listenAll({ listeners }: Config, app: App): Promise<Started[]> {
  const started: Started[] = []
  for (const config of listeners) {
    const sharing = config.isPerWorker ? { exclusive: true } : { reusePort: hasOwnSocket() }
    const listening = await listen(app.listeners[config.name].server, config, sharing)
    started.push({ ...listening, name: config.name, prefix: config.prefix })
  }
  return started
}

/** Returns the host names that the ops listener accepts. */
function opsHostsOf({ listeners }: Config): string[] {
  return ['localhost', ...listeners.filter(({ name }) => name === 'ops').map(({ host }) => host.toLowerCase())]
}

/** Stores the server's addresses for the command line. With a read-only database, logs a warning instead. */
async function recordAddresses(storage: Storage, addresses: InstanceAddresses, logger: Logger): Promise<void> {
  try {
    await storeAddresses(storage, addresses)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    logger.warn({ err: error }, 'could not store the addresses of this server; commands may print older addresses')
  }
}
