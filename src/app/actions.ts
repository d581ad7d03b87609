/** The actions on records, for the server and for commands. */

import { type DomainEffects, domainActions } from '../domains/actions.ts'
import { type EraseElsewhere, finishErasures } from '../events/erasure.ts'
import type { GroupKind } from '../events/event.ts'
import { type DetachLinks, type FinishRemoval, removeRecord } from '../events/removal.ts'
import { Reversals } from '../events/reversal.ts'
import { eraseFromResponses } from '../idempotency/store.ts'
import { eraseDeletedLinks } from '../imports/staging/store.ts'
import { followReversals } from '../imports/undo.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { LinkActions, type LinkParts } from '../links/actions.ts'
import { deleteLinks } from '../links/deletion.ts'
import { clearSpace, clearTag, deleteLinksOfDomain } from '../links/detachment.ts'
import { hashPassword } from '../links/password.ts'
import { linkReversal } from '../links/reversal.ts'
import { defineDepartures } from '../members/changes.ts'
import { defineForgetting } from '../members/forgetting.ts'
import { spaceActions } from '../spaces/actions.ts'
import type { Storage } from '../storage/port.ts'
import { tagActions } from '../tags/actions.ts'

export interface ActionParts extends Omit<LinkParts, 'hashPassword' | 'deleteLinks' | 'erase'> {
  /** Limits concurrent hashes of passwords. */
  readonly hashes: Semaphore
  /** Does work that may take longer than a request waits. */
  readonly jobs: Jobs
  /** Deletes the clicks of permanently deleted records, and overwrites deleted rows. */
  readonly erase: () => Promise<void>
  readonly onDomain: DomainEffects
}

/** What happens to the links of a removed record. */
const detachments: Readonly<Record<GroupKind, DetachLinks>> = {
  domain: deleteLinksOfDomain,
  space: clearSpace,
  tag: clearTag,
}

/** Builds the actions, and what reverses their events. Defines their jobs. */
export function buildActions(storage: Storage, parts: ActionParts) {
  const { jobs, flush, hashes } = parts
  const erase = async (account: number) => void (await jobs.run({ record: 'account', record_id: account }))
  const finish =
    (record: GroupKind): FinishRemoval =>
    async ({ account }, record_id, isPermanent) => {
      await jobs.run({ record, record_id })
      if (isPermanent) await erase(account)
    }
  const domains = domainActions(storage, finish('domain'), parts.onDomain)
  const spaces = spaceActions(storage, finish('space'))
  const tags = tagActions(storage, finish('tag'))
  const links = new LinkActions(storage, {
    ...{ ...parts, deleteLinks, erase },
    hashPassword: (account, password) => hashes.run(() => hashPassword(password), `account ${account}`),
  })
  const kinds = { link: linkReversal(links), domain: domains.reversal, space: spaces.reversal, tag: tags.reversal }
  const reversals = new Reversals({ storage, kinds, flush, jobs, onReversed: followReversals })
  jobs.define('removal', async (job) => {
    // Clicks that are written after their link is deleted don't return with it.
    await flush()
    await removeRecord(storage, job, detachments[job.record as GroupKind])
  })
  jobs.define('return', (job) => reversals.returnLinks(job))
  jobs.define('erasure', (job) => finishErasures(storage, job, eraseElsewhere(storage), parts.erase))
  defineForgetting(jobs, storage)
  defineDepartures(jobs, storage)
  return { actions: { domains, spaces, tags, links }, reversals }
}

/** Returns what erases a permanently deleted record from stored responses and imports. */
function eraseElsewhere(storage: Storage): EraseElsewhere {
  return async (account, record, id) => {
    await eraseFromResponses(storage, account, record, id)
    if (record === 'link') await eraseDeletedLinks(storage, account, id)
    if (record === 'domain') await eraseDeletedLinks(storage, account, null)
  }
}
