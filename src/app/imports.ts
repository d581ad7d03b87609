/** Builds the imports of a server process. */

import type { Config } from '../config/config.ts'
import type { Reversals } from '../events/reversal.ts'
import { ImportActions } from '../imports/actions.ts'
import { ImportWorker } from '../imports/import-worker.ts'
import { OldServices, type ProofHosts } from '../imports/old-service.ts'
import { type ProofSource, prove } from '../imports/proof.ts'
import { fingerprintOfInstance } from '../instance/store.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { LinkActions } from '../links/actions.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import { createOwnAnswers } from '../redirect/explain.ts'
import type { Storage } from '../storage/port.ts'

interface Options extends Pick<Config, 'shortUrl' | 'urlSchemes' | 'proofHosts'> {
  readonly storage: Storage
}

/** How long a request waits for a job. Milliseconds. */
const patienceMs = 1_000

/** Returns the actions on imports, and the service that ends all jobs. */
export function buildImports(
  { storage, shortUrl, urlSchemes, proofHosts }: Options,
  jobs: Jobs,
  links: LinkActions,
  reversals: Reversals,
) {
  const worker = new ImportWorker({
    ...{ location: storage.location, shortUrl, urlSchemes },
    onApplied: (rows) => links.onApplied(rows),
  })
  const actions = new ImportActions(storage, {
    ...{ rules: links.rules, run: (job) => worker.run(job), reversals, jobs, patienceMs },
    prove: prover(storage, shortUrls(shortUrl), proofHosts),
  })
  // The thread ends in the middle of a job, which another process can then continue.
  return { actions, service: { close: async () => void (await Promise.all([jobs.close(), worker.close()])) } }
}

/** Returns the function that proves imports. */
export function prover(storage: Storage, shortUrl: ShortUrl, hosts: ProofHosts) {
  const services = new OldServices({ hosts })
  const ownAnswers = createOwnAnswers(storage, shortUrl)
  return async (source: ProofSource, signal: AbortSignal): Promise<void> => {
    const { position } = await storage.changesAfter(null)
    return prove(source, { services, fingerprint: fingerprintOfInstance(position.database), ownAnswers }, signal)
  }
}
