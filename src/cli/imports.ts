/** Imports for commands: their progress, and how Ctrl-C stops them. */
import { openImports } from '../app/local.ts'
import { Failure, StartupFailure } from '../errors.ts'
import type { ImportActions } from '../imports/actions.ts'
import { importOptions } from '../imports/schema.ts'
import type { Storage } from '../storage/port.ts'
import type { Terminal } from './command.ts'
import { explained } from './form-options.ts'
import { withProgress } from './output.ts'

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
