import { resources } from '../resources.ts'
import { Origins, storeByOrigin } from '../transfer/origins.ts'
import { checkedRecord, InvalidRecord, idIn, type Transferable, timesOf } from '../transfer/transferable.ts'
import { storeSpace } from './schema.ts'
import { findSpace, insertSpace, spacesAfter } from './store.ts'

const { singular } = resources.spaces
const origins = new Origins(singular)

/** Spaces in exports and imports. Names need not be unique, so a space is recognised by where it came from. */
export const spaceTransfer: Transferable = {
  plural: 'spaces',
  singular,
  after: spacesAfter,
  read: (members) => {
    const id = idIn(members)
    if (id === undefined)
      throw new InvalidRecord('id: A space needs the id that it has at its source, to be recognised by.')
    const { name, color } = checkedRecord(storeSpace.read(members))
    const times = timesOf(members)
    return storeByOrigin(origins, {
      id,
      times,
      find: async (db, account, id) => (await findSpace(db, account, id))?.record,
      isSame: (space) => space.name === name && space.color === color,
      insert: async (tx, account) => (await insertSpace(tx, account, { name, color }, times)).record,
    })
  },
}
