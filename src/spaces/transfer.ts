import { resources } from '../resources.ts'
import {
  checkedRecord,
  InvalidRecord,
  idIn,
  type Members,
  parseTimes,
  type Store,
  type Transferable,
} from '../transfer/transferable.ts'
import { type Space, storeSpace } from './schema.ts'
import { findImportedSpace, insertSpace, rememberOrigin, spaceRecords } from './store.ts'

/** Spaces in exports and imports. Names need not be unique, so the source and the id there identify a space. */
export const spaceTransfer: Transferable = {
  plural: 'spaces',
  singular: resources.spaces.singular,
  after: (...page) => spaceRecords.listAfter(...page),
  read: readSpace,
}

function readSpace(members: Members): Store {
  const id = idIn(members)
  if (id === undefined) {
    throw new InvalidRecord('id: A space needs the id that it has at its source, to be recognized by.')
  }
  const { name, color } = checkedRecord(storeSpace.read(members))
  const times = parseTimes(members)
  const hasValues = (space: Space) => space.name === name && space.color === color
  // A database and its copy assign ids independently, so spaces of different ages are different records.
  const hasAge = (space: Space) => times === undefined || times.created_at === space.created_at
  return async (tx, { actor, source, isOwn, asNew }) => {
    const imported = await findImportedSpace(tx, actor.account, { source, id })
    if (imported && hasValues(imported)) return { became: 'known', id: imported.id }
    const own = isOwn ? (await spaceRecords.find(tx, actor.account, id))?.record : undefined
    if (own && hasValues(own) && hasAge(own)) return { became: 'known', id }
    const existing = imported ?? own
    if (existing && !asNew) throw conflict(existing, { wasImported: imported !== undefined, hasAge: hasAge(existing) })
    const { record } = await insertSpace(tx, actor, { name, color }, times)
    await rememberOrigin(tx, actor.account, record.id, { source, id })
    return { became: 'stored', id: record.id }
  }
}

function conflict(space: Space, { wasImported, hasAge }: { wasImported: boolean; hasAge: boolean }): InvalidRecord {
  const advice = '--as-new stores it under a new id.'
  if (wasImported) {
    return new InvalidRecord(`id: It was imported before, as space ${space.id}, which now differs from it. ${advice}`)
  }
  const difference = hasAge ? 'now differs from it' : `is another record here, created at ${space.created_at}`
  return new InvalidRecord(`id: The space ${space.id} ${difference}. ${advice}`)
}
