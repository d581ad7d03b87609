/** The actions on records, for the server and for commands. */

import { domainActions } from '../domains/actions.ts'
import { domainRemoval } from '../domains/store.ts'
import { finishRemovals, type IsStopped } from '../events/removal.ts'
import { Reversals } from '../events/reversal.ts'
import { LinkActions, type LinkParts } from '../links/actions.ts'
import { clearSpace, clearTag, deleteLinksOfDomain } from '../links/detachment.ts'
import { linkReversal } from '../links/reversal.ts'
import { spaceActions } from '../spaces/actions.ts'
import { spaceRemoval } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'
import { tagActions } from '../tags/actions.ts'
import { tagRemoval } from '../tags/store.ts'

export interface ActionParts extends LinkParts {
  /** Runs work that may take longer than a request waits. */
  readonly run: (work: (isStopped: IsStopped) => Promise<void>) => Promise<void>
  /** Called after each commit and before the response, so that this process redirects correctly straight away. */
  readonly onDomainChange: () => Promise<void>
}

/** The queries that remove records in steps. */
export const removals = {
  domain: domainRemoval(deleteLinksOfDomain),
  space: spaceRemoval(clearSpace),
  tag: tagRemoval(clearTag),
}

/** Builds the actions, and what reverses their events. */
export function buildActions(storage: Storage, parts: ActionParts) {
  const { run, flush, erase } = parts
  const domains = domainActions(storage, {
    removals: { run },
    removal: removals.domain,
    erase,
    onChange: parts.onDomainChange,
  })
  const spaces = spaceActions(storage, { removals: { run }, removal: removals.space, erase })
  const tags = tagActions(storage, { removals: { run }, removal: removals.tag, erase })
  const links = new LinkActions(storage, parts)
  const kinds = { link: linkReversal(links), domain: domains.reversal, space: spaces.reversal, tag: tags.reversal }
  return { actions: { domains, spaces, tags, links }, reversals: new Reversals({ storage, kinds, flush, run }) }
}

/** Finishes all interrupted removals. */
export async function finishAllRemovals(storage: Storage, isStopped: IsStopped): Promise<void> {
  await Promise.all(Object.values(removals).map((removal) => finishRemovals(storage, removal, isStopped)))
}
