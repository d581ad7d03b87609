import type { Db } from '../storage/port.ts'
import type { Origins } from './store.ts'
import { type Store, type Stored, type Times, Unusable } from './transferable.ts'

interface Row extends Times {
  readonly id: number
}

/** A record of a line, and what can be done about it here. */
interface Wanted<Found extends Row> {
  /** The id that it has at its source. */
  readonly id: number
  readonly times: Times | undefined
  readonly find: (db: Db, account: number, id: number) => Promise<Found | undefined>
  /** Whether a record here has the same values. */
  readonly isSame: (found: Found) => boolean
  readonly insert: (tx: Db, account: number) => Promise<Found>
}

/**
 * How to store a record that nothing of its own, such as a unique name, identifies. It is recognised by the database that
 * it came from and its id there. `singular` has a table of origins (`Origins`).
 */
export function storedByOrigin<Found extends Row>(origins: Origins, wanted: Wanted<Found>): Store {
  return async (tx, { account, source, isOwn, asNew }) => {
    const origin = { source, id: wanted.id }
    const importedAs = await origins.find(tx, account, origin)
    const imported = importedAs && (await wanted.find(tx, account, importedAs))
    if (imported && wanted.isSame(imported)) return known(imported)
    const own = isOwn ? await wanted.find(tx, account, wanted.id) : undefined
    if (own && wanted.isSame(own) && isAsOld(own, wanted)) return known(own)
    if (!asNew) refuseClash(origins.singular, wanted, imported || undefined, own)
    const { id } = await wanted.insert(tx, account)
    await origins.remember(tx, account, id, origin)
    return { became: 'stored', id }
  }
}

function known({ id }: Row): Stored {
  return { became: 'known', id }
}

/** False when the two are different records: ids are given out independently in a database and its copy. */
function isAsOld({ created_at }: Row, { times }: { readonly times: Times | undefined }): boolean {
  return times === undefined || times.created_at === created_at
}

/** Throws `Unusable` when a record stands in the way. */
function refuseClash(singular: string, wanted: Pick<Wanted<Row>, 'times'>, imported?: Row, own?: Row): void {
  const wayOut = '--as-new stores it under a new id.'
  if (imported !== undefined) {
    throw new Unusable(
      `id: It was imported before, as ${singular} ${imported.id}, which now differs from it. ${wayOut}`,
    )
  }
  if (own === undefined) return
  const what = isAsOld(own, wanted) ? 'now differs from it' : `is another record here, created at ${own.created_at}`
  throw new Unusable(`id: The ${singular} ${own.id} ${what}. ${wayOut}`)
}
