/** The actions on records, for the server and for commands. */

import { domainActions } from '../domains/actions.ts'
import { type EraseElsewhere, finishErasures } from '../events/erasure.ts'
import {
  type FinishRemoval,
  finishRemoval,
  finishRemovals,
  type IsStopped,
  type Removal,
  removalOf,
} from '../events/removal.ts'
import { Reversals } from '../events/reversal.ts'
import { eraseFromResponses } from '../idempotency/store.ts'
import { eraseDeletedLinks } from '../imports/staging/store.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { LinkActions, type LinkParts } from '../links/actions.ts'
import { deleteLinks } from '../links/deletion.ts'
import { clearSpace, clearTag, deleteLinksOfDomain } from '../links/detachment.ts'
import { hashPassword } from '../links/password.ts'
import { linkReversal } from '../links/reversal.ts'
import { spaceActions } from '../spaces/actions.ts'
import { scrub } from '../storage/batch-writer.ts'
import type { Storage } from '../storage/port.ts'
import { tagActions } from '../tags/actions.ts'

export interface ActionParts extends Omit<LinkParts, 'hashPassword' | 'deleteLinks'> {
  /** Limits concurrent hashes of passwords. */
  readonly hashes: Semaphore
  /** Runs work that may take longer than a request waits. */
  readonly run: (work: (isStopped: IsStopped) => Promise<void>) => Promise<void>
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onDomainChange: () => Promise<void>
}

/** The queries that remove records in steps. */
export const removals = {
  domain: removalOf('domain', deleteLinksOfDomain),
  space: removalOf('space', clearSpace),
  tag: removalOf('tag', clearTag),
}

/** Builds the actions, and what reverses their events. */
export function buildActions(storage: Storage, parts: ActionParts) {
  const { run, flush, hashes } = parts
  const erase = async (isStopped: IsStopped, account: number) => {
    await finishErasures(storage, account, isStopped, eraseElsewhere(storage))
    if (!isStopped()) await parts.erase(account)
  }
  const finish =
    (removal: Removal): FinishRemoval =>
    ({ account }, id, isPermanent) =>
      run(async (isStopped) => {
        // Clicks that are written after their link is deleted don't return with it.
        await flush()
        await finishRemoval(storage, removal, id, isStopped)
        if (isPermanent) await erase(isStopped, account)
      })
  const domains = domainActions(storage, finish(removals.domain), parts.onDomainChange)
  const spaces = spaceActions(storage, finish(removals.space))
  const tags = tagActions(storage, finish(removals.tag))
  const links = new LinkActions(storage, {
    ...parts,
    deleteLinks,
    erase: (account) => run((isStopped) => erase(isStopped, account)),
    hashPassword: (account, password) => hashes.run(() => hashPassword(password), `account ${account}`),
  })
  const kinds = { link: linkReversal(links), domain: domains.reversal, space: spaces.reversal, tag: tags.reversal }
  return { actions: { domains, spaces, tags, links }, reversals: new Reversals({ storage, kinds, flush, run }) }
}

/** Finishes all interrupted removals and erasures. */
export async function finishAllRemovals(storage: Storage, isStopped: IsStopped): Promise<void> {
  await Promise.all(Object.values(removals).map((removal) => finishRemovals(storage, removal, isStopped)))
  await finishErasures(storage, null, isStopped, async (...record) => {
    await eraseElsewhere(storage)(...record)
    await scrub(storage.location, 'events').catch(() => undefined)
  })
}

/** Returns what erases a permanently deleted record from stored responses and imports. */
function eraseElsewhere(storage: Storage): EraseElsewhere {
  return async (account, record, id) => {
    await eraseFromResponses(storage, account, record, id)
    if (record === 'link') await eraseDeletedLinks(storage, account, id)
    if (record === 'domain') await eraseDeletedLinks(storage, account, null)
  }
}
