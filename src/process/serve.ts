import { flushCompileCache } from 'node:module'
import type { Logger } from 'pino'
import { checkCountries } from '../analytics/capture/countries.ts'
import { type App, buildApp } from '../app/app.ts'
import { type Config, readConfig } from '../config/config.ts'
import type { ListenerConfig } from '../config/listeners.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { type InstanceAddresses, storeAddresses } from '../instance/store.ts'
import { signInUrl } from '../sessions/sign-in-url.ts'
import { insertLoginToken } from '../sessions/store.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/port.ts'
import { type FirstAccess, isKnownKey, isWithoutKeys, makeFirstAccess } from './first-access.ts'
import { type AccessNews, type Addresses, dashboardUrl, greet, greeting } from './greeting.ts'
import { ensureFree, type Listening, listen } from './listen.ts'
import { openLog } from './log.ts'
import { endInGoodOrder } from './shutdown.ts'
import { announce, hasOwnSocket, isFirst, isSupervisor, isWorker, placesOf, superviseWorkers } from './workers.ts'

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
  // A worker has to start even if the file broke after its supervisor checked it.
  const config = readConfig(undefined, isWorker() ? undefined : checkCountries)
  if (isSupervisor(config.workers)) {
    await ensureFree(placesOf(config.listeners, config.workers))
    return superviseWorkers(config.listeners, config.workers, await openLog(config.logLevel))
  }
  const storage = await openStorage(config.storage)
  const log = await openLog(config.logLevel)
  const { logger } = log
  const app = buildApp({ ...config, opsHosts: opsHostsOf(config), storage, log })
  endInGoodOrder({ app, storage, log })
  try {
    // The operator's own key is good from the first request on. One that is to be printed is made when it can be.
    const ownAccess = isFirst() ? await registerOwnKey(config, storage, logger) : undefined
    if (config.listeners.some(({ name }) => name === 'redirect')) await app.load()
    const listening = await listenAll(config, app)
    announce(Object.fromEntries(listening.map(({ prefix, port }) => [prefix, port])))
    if (isFirst()) {
      const addresses = addressesOf(listening)
      const baseUrl = config.baseUrl ?? dashboardUrl(addresses.api)
      await recordAddresses(storage, { short_url: config.shortUrl, base_url: baseUrl }, logger)
      const first = ownAccess ?? (await makeFirstAccess(storage))
      greet(greeting(addresses, await accessNews(storage, first, baseUrl)))
      for (const warning of config.warnings) logger.warn(warning)
    }
    storage.start((error) => logger.warn({ err: error }, 'the search index cannot be used; searches are slower'))
    // Node itself writes down what was compiled at a clean exit only.
    flushCompileCache()
    app.begin()
  } catch (error) {
    // Told to stop while it started: what closes already is no reason to fail.
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

/** Starts the listeners that are turned on, in their order. */
async function listenAll({ listeners }: Config, app: App): Promise<Started[]> {
  const started: Started[] = []
  for (const place of listeners) {
    const sharing = place.isPerWorker ? { exclusive: true } : { reusePort: hasOwnSocket() }
    const listening = await listen(app.listeners[place.name].server, place, sharing)
    started.push({ ...listening, name: place.name, prefix: place.prefix })
  }
  return started
}

/** The names by which the ops listener may be asked for: its own, and those of every machine. */
function opsHostsOf({ listeners }: Config): string[] {
  return ['localhost', ...listeners.filter(({ name }) => name === 'ops').map(({ host }) => host.toLowerCase())]
}

/** Registers the operator's own key at the first start; later it changes nothing. */
async function registerOwnKey({ bootstrapKey }: Config, storage: Storage, logger: Logger) {
  if (bootstrapKey === null) return undefined
  const first = await makeFirstAccess(storage, bootstrapKey)
  if (first === undefined && !(await isKnownKey(storage, bootstrapKey))) {
    logger.warn(
      'BOOTSTRAP_KEY is not a key of this database: it is registered at the first start only. Issue a key with "npx waymark keys create", or unset BOOTSTRAP_KEY.',
    )
  }
  return first
}

/** Stores the server's addresses for the command line. With a read-only database, logs a warning instead. */
async function recordAddresses(storage: Storage, addresses: InstanceAddresses, logger: Logger): Promise<void> {
  try {
    await storeAddresses(storage, addresses)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    logger.warn({ err: error }, 'the addresses of this server could not be stored; commands may print older ones')
  }
}

/** Makes the first sign-in link. `base` is where browsers find the dashboard. */
async function accessNews(storage: Storage, first: FirstAccess | undefined, base: string): Promise<AccessNews> {
  if (first !== undefined) {
    return { secret: first.secret, signInUrl: signInUrl(base, await insertLoginToken(storage, first.account)) }
  }
  return (await isWithoutKeys(storage)) ? 'none' : 'kept'
}
