/** The actions of the API, for commands. Running servers read changes from the database. */
import { type ActionParts, buildActions } from '../app/actions.ts'
import { passwordSemaphores } from '../app/semaphores.ts'
import { readUrlSchemes } from '../config/config.ts'
import { Jobs } from '../jobs/jobs.ts'
import { scrub } from '../storage/batch-writer.ts'
import type { Storage } from '../storage/port.ts'
import { ownShortUrls } from './instance.ts'

/** Returns the actions, and what reverses their events. Throws `StartupFailure` if `URL_SCHEMES` is invalid. */
export async function openActions(db: Storage) {
  // Without a time limit, because the command ends with the work. A server continues jobs if the command is killed.
  const jobs = new Jobs(db, { maxWaitMs: null, cancelsAtEnd: true, onProblem: () => undefined })
  const parts: ActionParts = {
    ...{ shortUrl: await ownShortUrls(db), urlSchemes: readUrlSchemes(), hashes: passwordSemaphores().hashes },
    onChange: () => undefined,
    onDomainChange: async () => undefined,
    // The clicks are in the server. Its maintenance deletes them for permanently deleted records.
    flush: async () => undefined,
    erase: () => scrub(db.location, 'events').catch(() => undefined),
    jobs,
  }
  return { ...buildActions(db, parts), jobs }
}
