/** The API for commands, which do the work of a server on their own connection. Running servers read changes from the database. */
import type { Actor } from '../access/actor.ts'
import { LocalApi } from '../api/local.ts'
import { readHistoryDays, readProofHosts, readShortUrlTemplate, readUrlSchemes } from '../config/config.ts'
import { IdempotentRequests } from '../idempotency/store.ts'
import { ImportActions } from '../imports/actions.ts'
import { runImportJob } from '../imports/jobs.ts'
import type { ProofSource } from '../imports/proof.ts'
import { findInstanceUrls } from '../instance/store.ts'
import { Jobs } from '../jobs/jobs.ts'
import { quantity } from '../lib/format.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import { explainer } from '../redirect/explain.ts'
import { scrub } from '../storage/batch-writer.ts'
import type { Db, Storage } from '../storage/port.ts'
import { type ActionParts, buildActions } from './actions.ts'
import { prover } from './imports.ts'
import { addOperations } from './operations.ts'
import { createSemaphores, passwordSemaphores } from './semaphores.ts'

type Show = (line: () => string) => void

/** Returns how this instance writes short URLs. Throws `StartupFailure` if the configuration is invalid. */
export async function ownShortUrls(db: Db): Promise<ShortUrl> {
  const { short_url } = await findInstanceUrls(db)
  return shortUrls(readShortUrlTemplate(short_url))
}

/** Returns the actions, and what reverses their events. Throws `StartupFailure` if `URL_SCHEMES` is invalid. */
export async function openActions(db: Storage) {
  // Without a time limit, because the command ends with the work. A server continues jobs if the command is killed. If it is
  // stopped, it cancels what the command asked for, but not what follows, such as the removal of a tag.
  const cancelledAtEnd = ['apply', 'undo', 'proof'] as const
  const jobs = new Jobs(db, { maxWaitMs: null, cancelledAtEnd, onProblem: () => undefined })
  const parts: ActionParts = {
    ...{ shortUrl: await ownShortUrls(db), urlSchemes: readUrlSchemes(), hashes: passwordSemaphores().hashes },
    onChange: () => undefined,
    onDomain: { onStored: () => undefined, refresh: async () => undefined },
    // The clicks are in the server. Its maintenance deletes them for permanently deleted records.
    flush: async () => undefined,
    erase: () => scrub(db.location, 'events').catch(() => undefined),
    jobs,
  }
  return { ...buildActions(db, parts), jobs }
}

interface LocalParts {
  readonly db: Storage
  readonly actor: Actor
  /** By default, imports whose jobs show no progress. */
  readonly imports?: ImportActions
  /** Returns the URL of the dashboard by the stored one. */
  readonly dashboardUrl: (stored: string | null) => string
}

/** Runs work with the API in this process. Throws `StartupFailure` if the configuration is invalid. */
export async function withLocalApi<T>(
  { db, actor, imports, dashboardUrl }: LocalParts,
  work: (api: LocalApi) => Promise<T>,
): Promise<T> {
  const { base_url } = await findInstanceUrls(db)
  const shortUrl = await ownShortUrls(db)
  const { actions, reversals } = await openActions(db)
  const idempotentRequests = new IdempotentRequests(db)
  const api = new LocalApi(actor, () => dashboardUrl(base_url))
  addOperations(api, {
    ...{ storage: db, idempotentRequests, actions, reversals, shortUrl },
    imports: imports ?? (await openImports(db)),
    explain: explainer(db, shortUrl),
    historyDays: readHistoryDays(),
    semaphores: createSemaphores(),
  })
  try {
    return await work(api)
  } finally {
    await idempotentRequests.close()
  }
}

/** Opens the actions on imports. `show` gets their progress. */
export async function openImports(
  db: Storage,
  show: Show = () => undefined,
  signal: AbortSignal = new AbortController().signal,
): Promise<ImportActions> {
  const { actions, reversals, jobs } = await openActions(db)
  signal.addEventListener('abort', () => void jobs.close())
  const { rules } = actions.links
  const prove = prover(db, await ownShortUrls(db), readProofHosts())
  let line = 'Checking the plan'
  const connection = stoppable(db, signal, () => show(() => line))
  let [rows, links, addresses] = [0, 0, 0]
  return new ImportActions(db, {
    ...{ rules, reversals, jobs, patienceMs: null },
    run: (job) =>
      runImportJob(connection, job, {
        rules,
        onProgress: (count) => {
          // The second pass starts again from the first row.
          line = `${quantity(count, 'row')} ${count < rows || line.endsWith('checked') ? 'checked' : 'read'}`
          rows = count
        },
        onApplied: (some) => {
          links += some.length
          line = `${quantity(links, 'link')} imported`
        },
      }),
    prove: (source, stopped) => {
      const save: ProofSource['save'] = async (proof) => {
        await source.save(proof)
        addresses += 1
        show(() => `${quantity(addresses, 'address', 'addresses')} compared`)
      }
      return prove({ ...source, save }, stopped)
    },
  })
}

/** Returns a connection whose next query or transaction fails once after the signal aborts. Later ones may clean up. */
function stoppable(db: Db, signal: AbortSignal, onQuery: () => void): Db {
  let isStopped = false
  const requireGoing = () => {
    if (signal.aborted && !isStopped) {
      isStopped = true
      throw signal.reason
    }
    onQuery()
  }
  return {
    execute: async (query) => {
      requireGoing()
      return db.execute(query)
    },
    write: async (work, isolation) => {
      requireGoing()
      return db.write(work, isolation)
    },
  }
}
