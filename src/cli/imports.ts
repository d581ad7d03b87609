/** Imports for commands, which do the work of the server's thread on their own connection. */
import { prover } from '../app/imports.ts'
import { readProofHosts } from '../config/config.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { ImportActions } from '../imports/actions.ts'
import { runImportJob } from '../imports/jobs.ts'
import type { ProofSource } from '../imports/proof.ts'
import { importOptions } from '../imports/schema.ts'
import { quantity } from '../lib/format.ts'
import type { Db, Storage } from '../storage/port.ts'
import { openActions } from './actions.ts'
import type { Terminal } from './command.ts'
import { explained } from './form-options.ts'
import { ownShortUrls } from './instance.ts'
import { withProgress } from './output.ts'

type Show = (line: () => string) => void

/** Runs work on imports with its progress. Ctrl-C stops it between two transactions. Throws `StartupFailure` then. */
export async function withImports<T>(
  db: Storage,
  { err }: Terminal,
  work: (imports: ImportActions) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const stopped = new StartupFailure('Stopped. Run the command again to continue.')
  const onSignal = () => stop.abort(stopped)
  for (const name of signals) process.once(name, onSignal)
  try {
    return await withProgress(err, async ({ show }) => {
      const result = await work(await openImports(db, show, stop.signal))
      stop.signal.throwIfAborted()
      return result
    })
  } catch (error) {
    if (stop.signal.aborted) throw stopped
    if (!(error instanceof Failure)) throw error
    const shown = explained(error, importOptions)
    throw shown instanceof Failure ? new StartupFailure(shown.message) : shown
  } finally {
    for (const name of signals) process.off(name, onSignal)
  }
}

const signals = ['SIGINT', 'SIGTERM'] as const

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

/** Returns a connection whose next transaction fails once after the signal aborts. Later ones may clean up. */
function stoppable(db: Db, signal: AbortSignal, onWrite: () => void): Pick<Db, 'write'> {
  let isStopped = false
  return {
    write: async (work) => {
      if (signal.aborted && !isStopped) {
        isStopped = true
        throw signal.reason
      }
      onWrite()
      return db.write(work)
    },
  }
}
