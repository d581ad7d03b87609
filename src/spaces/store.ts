import type { Actor } from '../access/actor.ts'
import { LoggedRecords } from '../events/records.ts'
import { foldCase } from '../lib/text.ts'
import type { Db } from '../storage/port.ts'
import { newTimes, type Precondition, Records, type Versioned } from '../storage/records.ts'
import { query } from '../storage/schema.ts'
import { type Space, spaceSchema } from './schema.ts'

/** Lists and finds spaces. */
export const spaceRecords = new Records<Space>('spaces', Object.keys(spaceSchema.properties) as (keyof Space)[])

/** Changes, removes and restores spaces together with their events. */
export const loggedSpaces = new LoggedRecords<Space>(spaceRecords, {
  record: 'space',
  nameOf: ({ name }) => name,
  valuesOf: ({ name, color }) => ({ name, color }),
  secrets: [],
  freed: {},
  keep: async (tx, _account, id) => {
    const origins = query.selectFrom('space_origins').select(['source', 'source_id']).where('space_id', '=', id)
    return { origins: await tx.execute(origins) }
  },
})

/** Stores a space; an imported one keeps its times. */
export function insertSpace(
  db: Db,
  actor: Actor,
  { name, color }: Pick<Space, 'name' | 'color'>,
  times = newTimes(),
): Promise<Versioned<Space>> {
  const values = { account_id: actor.account, name_folded: foldCase(name), name, color, ...times }
  return db.write(async (tx) => {
    const space = (await spaceRecords.insert(tx, values)) as Versioned<Space>
    await loggedSpaces.created(tx, actor, space.record)
    return space
  })
}

/** The database that a space was imported from, and its id there. */
interface Origin {
  readonly source: string
  readonly id: number
}

/** Finds the account's space that was imported from `origin`. */
export async function findImportedSpace(db: Db, account: number, origin: Origin): Promise<Space | undefined> {
  const [found] = await db.execute(
    query
      .selectFrom('space_origins')
      .select('space_id')
      .where('account_id', '=', account)
      .where('source', '=', origin.source)
      .where('source_id', '=', origin.id),
  )
  return found && (await spaceRecords.find(db, account, found.space_id))?.record
}

/** Stores that the account's space was imported from `origin`. */
export async function rememberOrigin(tx: Db, account: number, space_id: number, { source, id }: Origin): Promise<void> {
  await tx.execute(
    query
      .insertInto('space_origins')
      .values({ space_id, account_id: account, source, source_id: id })
      .onConflict((conflict) => conflict.columns(['account_id', 'source', 'source_id']).doUpdateSet({ space_id })),
  )
}

/** Changes the actor's space, as `Records.change` does. An undefined value stays unchanged. */
export function changeSpace(
  db: Db,
  actor: Actor,
  id: number,
  { name, color }: { readonly name?: string | undefined; readonly color?: number | undefined },
  precondition: Precondition | null,
): Promise<Versioned<Space> | undefined> {
  const name_folded = name === undefined ? undefined : foldCase(name)
  return loggedSpaces.change(db, actor, id, { name, name_folded, color }, precondition)
}
