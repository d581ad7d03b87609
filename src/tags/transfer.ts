import { resources } from '../resources.ts'
import {
  checkedRecord,
  InvalidRecord,
  type Members,
  parseTimes,
  type Store,
  storedOrKnown,
  type Transferable,
} from '../transfer/transferable.ts'
import { storeTag } from './schema.ts'
import { findTagByName, insertTag, tagRecords } from './store.ts'

/** Tags in exports and imports. A tag is recognized by its name, which is unique in the account. */
export const tagTransfer: Transferable = {
  plural: 'tags',
  singular: resources.tags.singular,
  after: async (...page) => (await tagRecords.listAfter(...page)).map(({ links: _, ...line }) => line),
  read: readTag,
}

function readTag(members: Members): Store {
  const { name, color } = checkedRecord(storeTag.read(members))
  const times = parseTimes(members)
  return (tx, { actor }) =>
    storedOrKnown(
      async () => (await insertTag(tx, actor, { name, color }, times)).record,
      () => findTagByName(tx, actor.account, name),
      (existing) => {
        if (existing.color === color) return existing.id
        throw new InvalidRecord(`color: There is already a tag ${existing.name}, with color ${existing.color}.`)
      },
    )
}
