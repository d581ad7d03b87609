/** The actions of the API on a database, without servers. */
import { buildActions } from '../src/app/actions.ts'
import { passwordSemaphores } from '../src/app/semaphores.ts'
import { Jobs } from '../src/jobs/jobs.ts'
import type { Storage } from '../src/storage/port.ts'

interface ActionOptions {
  /** Deletes the clicks of permanently deleted records. */
  readonly erase?: () => Promise<void>
  /** The clock of jobs, in Unix milliseconds. */
  readonly now?: () => number
}

/** Returns the actions, what reverses their events, and their jobs. Close the jobs for a process that dies before they begin. */
export function actionsOn(storage: Storage, { erase, now = Date.now }: ActionOptions = {}) {
  const jobs = new Jobs(storage, { maxWaitMs: null, onProblem: () => undefined, now })
  const built = buildActions(storage, {
    shortUrl: (name, alias) => `http://${name}/${alias}`,
    urlSchemes: [],
    hashes: passwordSemaphores().hashes,
    onChange: () => undefined,
    onDomain: { onStored: () => undefined, refresh: async () => undefined },
    flush: async () => undefined,
    erase: async () => erase?.(),
    jobs,
  })
  return { ...built, jobs }
}
