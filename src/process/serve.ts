import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import type { Logger } from 'pino'
import { Countries } from '../analytics/capture/countries.ts'
import { type App, buildApp } from '../app/app.ts'
import { type Config, type ListenerName, readConfig } from '../config/config.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { type InstanceUrls, storeInstanceUrls } from '../instance/store.ts'
import { loadOidcLibraries } from '../sign-in/oidc/client.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/port.ts'
import { createFirstAccess, type FirstAccess, findAccess, registerKey } from './access.ts'
import { greet, greeting, type Listeners, startupFields } from './greeting.ts'
import { ensureFree, type Listening, listen } from './listen.ts'
import { openLog } from './log.ts'
import { stopOnSignals } from './shutdown.ts'
import { answerPings, listenersOfWorkers, type Ports, superviseWorkers } from './workers.ts'

/** Whether this is the only process that serves requests, or the first worker. */
const isFirst = cluster.isPrimary || cluster.worker?.id === 1

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
  const config = readConfig(undefined, cluster.isWorker ? undefined : Countries.read)
  if (config.workers > 1 && cluster.isPrimary) {
    await ensureFree(listenersOfWorkers(config.listeners, config.workers))
    return superviseWorkers(config.listeners, config.workers, await openLog(config.logLevel))
  }
  const storage = await openStorage(config.storage)
  const log = await openLog(config.logLevel)
  const { logger } = log
  const opsHosts = config.listeners.filter(({ name }) => name === 'ops').map(({ host }) => host.toLowerCase())
  const app = buildApp({ ...config, opsHosts: ['localhost', ...opsHosts], storage, logger })
  stopOnSignals({ app, storage, log })
  try {
    if (config.listeners.some(({ name }) => name === 'redirect')) await app.load()
    if (isFirst) log.hold()
    // BOOTSTRAP_KEY must work from the first request on. A generated key is created when it can be printed.
    const registered = isFirst ? await registerKey(storage, config.bootstrapKey, logger) : undefined
    // At the first sign-in, visitors would wait for that.
    if (config.oidc) await loadOidcLibraries()
    const listeners = await listenAll(config, app)
    if (isFirst) {
      // Other workers start when they know the ports, so their lines come later.
      await log.announce(startupFields(listeners, config.storage))
      await greetOperator(config, storage, { listeners, registered, logger })
    }
    reportPorts(listeners)
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

interface Started {
  readonly listeners: Listeners
  /** The access that `BOOTSTRAP_KEY` has created. */
  readonly registered: FirstAccess | undefined
  readonly logger: Logger
}

/** Stores the addresses, creates the first access, and prints both and the warnings. */
async function greetOperator(config: Config, storage: Storage, { listeners, registered, logger }: Started) {
  const baseUrl = config.baseUrl ?? listeners.api.url
  await recordAddresses(storage, { short_url: config.shortUrl, base_url: baseUrl }, logger)
  const access = await findAccess(storage, registered ?? (await createFirstAccess(storage)), baseUrl)
  const dashboard = `${baseUrl}/app`
  const { api, redirect } = listeners
  greet(greeting({ api, redirect, dashboard, storage: config.storage, access }), logger)
  for (const warning of config.warnings) logger.warn(warning)
}

/** Starts the enabled listeners in order. */
async function listenAll({ listeners }: Config, app: App): Promise<Listeners> {
  const listening: Partial<Record<ListenerName, Listening>> = {}
  // On Linux, each worker has its own socket on a shared port, so that the kernel distributes the connections. On other
  // systems the supervisor accepts connections, and loses the connections of a dead worker.
  const reusePort = cluster.isWorker && process.platform === 'linux'
  for (const config of listeners) {
    const sharing = config.isPerWorker ? { exclusive: true } : { reusePort }
    listening[config.name] = await listen(app.listeners[config.name].server, config, sharing)
  }
  return listening as Listeners
}

/** Sends the ports to the supervisor, if there is one. It then expects answers to its pings. */
function reportPorts(listeners: Listeners): void {
  if (!cluster.isWorker) return
  answerPings()
  const ports = Object.fromEntries(Object.entries(listeners).map(([name, { port }]) => [name, port]))
  process.send?.(ports satisfies Ports)
}

/** Stores the server's addresses for the command line. With a read-only database, logs a warning instead. */
async function recordAddresses(storage: Storage, addresses: InstanceUrls, logger: Logger): Promise<void> {
  try {
    await storeInstanceUrls(storage, addresses)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    logger.warn({ err: error }, 'the URLs of this server could not be stored; commands may print old URLs')
  }
}
