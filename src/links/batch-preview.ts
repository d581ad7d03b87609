/** What a change would do to many links: the same change, which is rolled back. */
import type { Actor } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { type Update, updateRows } from './batch-changes.ts'
import type { LinkRules } from './link-violations.ts'
import { destinationsIn, type WithDestinations } from './schema.ts'
import { linkRecords } from './store.ts'

/** What a change would do to a link. */
export interface PreviewedRow {
  readonly id: number
  readonly failure: Failure | null
  /** Whether the link would have other values. */
  readonly isChanged: boolean
  /** The destinations that would change, before and after, of the first links. */
  readonly destinations: readonly (readonly [before: string, after: string])[]
}

/**
 * Links that are changed together before they are rolled back, which holds the write lock for up to 100 ms. Changes use the same
 * parts, so that both have the same failures, unless links in different parts want the same address.
 */
export const changedTogether = 250

/** The links whose destinations a page shows. */
const maxShown = 10

/** Returns what a change would do to its links, in their order. Nothing is stored. */
export async function previewChange(
  db: Pick<Db, 'write'>,
  actor: Actor,
  change: Update,
  rules: LinkRules,
): Promise<PreviewedRow[]> {
  const rows: PreviewedRow[] = []
  for (let at = 0; at < change.ids.length; at += changedTogether) {
    const ids = change.ids.slice(at, at + changedTogether)
    const left = maxShown - rows.filter(({ destinations }) => destinations.length > 0).length
    rows.push(...(await previewPart(db, actor, { ...change, ids }, rules, left)))
  }
  return rows
}

async function previewPart(
  db: Pick<Db, 'write'>,
  actor: Actor,
  change: Update,
  rules: LinkRules,
  maxShown: number,
): Promise<PreviewedRow[]> {
  const work = async (tx: Db): Promise<never> => {
    const before = await linkRecords.findAll(tx, actor.account, change.ids)
    const { outcomes } = await updateRows(tx, actor, change, rules)
    let shown = 0
    const rows = change.ids.map((id, at): PreviewedRow => {
      const [old, outcome] = [before.get(id), outcomes[at] ?? null]
      if (outcome === null || outcome instanceof Failure)
        return { id, failure: outcome, isChanged: false, destinations: [] }
      const all = old === undefined || shown >= maxShown ? [] : changedDestinations(old.record, outcome.record)
      if (all.length > 0) shown += 1
      return { id, failure: null, isChanged: old?.version !== outcome.version, destinations: all }
    })
    throw new RolledBack(rows)
  }
  try {
    return await db.write(work)
  } catch (error) {
    if (error instanceof RolledBack) return error.rows
    throw error
  }
}

/** Ends a transaction without storing anything. */
class RolledBack extends Error {
  readonly rows: PreviewedRow[]

  constructor(rows: PreviewedRow[]) {
    super('The change was only a preview.')
    this.rows = rows
  }
}

function changedDestinations(before: WithDestinations, after: WithDestinations): (readonly [string, string])[] {
  const now = destinationsIn(after)
  return destinationsIn(before).flatMap(({ url }, at) => {
    const changed = now[at]?.url ?? ''
    return changed === url ? [] : [[url, changed] as const]
  })
}
