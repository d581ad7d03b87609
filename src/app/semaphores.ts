/** How many tasks of a server process run and wait at the same time. */
import { overloaded } from '../errors.ts'
import { Semaphore } from '../lib/semaphore.ts'

export type Semaphores = ReturnType<typeof createSemaphores>

/** Limits of rendered and waiting pages. 64 may wait for each account, so that a browser can restore 40 tabs. */
export const maxPages = { concurrency: 64, concurrencyPerKey: 4, maxQueue: 1_024, maxQueuePerKey: 64 }

/** Creates the semaphores of a process, which throw `overloaded` if too many tasks wait. Keys are accounts. */
export function createSemaphores() {
  return {
    ...passwordSemaphores(),
    pages: new Semaphore({
      ...maxPages,
      rejection: () => overloaded('Too many pages are loading. Try again in a second.'),
    }),
    /** Large responses that are read, rendered or compressed. */
    largeResponses: new Semaphore({
      ...{ concurrency: 8, concurrencyPerKey: 2, maxQueue: 2_048, maxQueuePerKey: 512 },
      rejection: () => overloaded('Too many large lists are loading. Try again in a second.'),
    }),
    /** Files take as long as clients read them, so they have their own limits. */
    downloads: new Semaphore({
      ...{ concurrency: 8, concurrencyPerKey: 2, maxQueue: 64, maxQueuePerKey: 4 },
      rejection: () => overloaded('Too many files are being downloaded. Try again when one is complete.'),
    }),
    /** One after another, so that other writes get their turn between two transactions. */
    batches: new Semaphore({
      ...{ concurrency: 1, maxQueue: 32, maxQueuePerKey: 4 },
      rejection: () => overloaded('Too many bulk requests are waiting. Try again shortly.'),
    }),
    /** Changes of selected links. Each account has one, so that the others don't wait for it. */
    selections: new Semaphore({
      ...{ concurrency: 4, concurrencyPerKey: 1, maxQueue: 64, maxQueuePerKey: 4 },
      rejection: () => overloaded('Too many changes of several links are under way. Try again in a few seconds.'),
    }),
    /** Files of imports, each of which has up to 16 MiB. Each account has one, because a slow one takes minutes. */
    plans: new Semaphore({
      ...{ concurrency: 3, concurrencyPerKey: 1, maxQueue: 16, maxQueuePerKey: 2, maxWaitMs: 20_000 },
      rejection: (isOfAccount) =>
        overloaded(
          isOfAccount
            ? 'This account is planning an import already. Try again when its state is “planned”.'
            : 'Too many imports are being planned. Try again in a minute.',
        ),
    }),
    /** Responses of authenticators, which a thread verifies. */
    passkeys: new Semaphore({
      ...{ concurrency: 4, maxQueue: 256, maxWaitMs: 15_000 },
      rejection: () => overloaded('Too many passkeys are being checked. Try again in a few seconds.'),
    }),
    /** Processes that read logos. */
    logos: new Semaphore({
      ...{ concurrency: 1, maxQueue: 16, maxQueuePerKey: 2, maxWaitMs: 15_000 },
      rejection: () => overloaded('Too many logos are being read. Try again in a minute.'),
    }),
  }
}

export function passwordSemaphores() {
  return {
    /** Hashes of accounts and networks. Each uses one of Node's four threads for about 30 ms. */
    hashes: new Semaphore({
      ...{ concurrency: 2, maxQueue: 512, maxQueuePerKey: 32 },
      rejection: () => overloaded('Too many passwords are being checked.'),
    }),
    /** A visitor's passwords for a link, one after the other, so that their limit is exact. Keys are links and networks. */
    visitorPasswords: new Semaphore({
      ...{ concurrency: Number.POSITIVE_INFINITY, concurrencyPerKey: 1, maxQueuePerKey: 31 },
      rejection: () => overloaded('Too many passwords are being checked. Try again shortly.'),
    }),
  }
}
