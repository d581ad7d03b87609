/** The actions of the API on a database, without servers. */
import { buildActions } from '../src/app/actions.ts'
import { passwordSemaphores } from '../src/app/semaphores.ts'
import type { Storage } from '../src/storage/port.ts'

/**
 * Returns the actions, and what reverses their events. `erase` deletes the clicks of permanently deleted records. `isStopped`
 * says whether the process ends before the steps after a deletion.
 */
export const actionsOn = (storage: Storage, erase?: () => Promise<void>, isStopped = () => false) =>
  buildActions(storage, {
    shortUrl: (name, alias) => `http://${name}/${alias}`,
    urlSchemes: [],
    hashes: passwordSemaphores().hashes,
    onChange: () => undefined,
    onDomainChange: async () => undefined,
    flush: async () => undefined,
    erase: async () => erase?.(),
    run: (work) => work(isStopped),
  })
