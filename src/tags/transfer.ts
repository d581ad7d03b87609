import { Failure } from '../errors.ts'
import { resources } from '../resources.ts'
import {
  checkedRecord,
  InvalidRecord,
  type Members,
  type Store,
  type Transferable,
  timesOf,
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
  const times = timesOf(members)
  return async (tx, { account }) => {
    try {
      return { became: 'stored', id: (await insertTag(tx, account, { name, color }, times)).record.id }
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'name_taken')) throw error
      const existing = await findTagByName(tx, account, name)
      if (existing === undefined) throw new InvalidRecord(`name: ${error.message}`)
      if (existing.color === color) return { became: 'known', id: existing.id }
      throw new InvalidRecord(`color: There is already a tag ${existing.name}, with color ${existing.color}.`)
    }
  }
}
