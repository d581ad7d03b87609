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
import { storeDomain } from './schema.ts'
import { domainRecords, findDomainByName, insertDomain } from './store.ts'

/** Domains in exports and imports. A domain is recognized by its name, which is unique in the whole instance. */
export const domainTransfer: Transferable = {
  plural: 'domains',
  singular: resources.domains.singular,
  after: async (db, account, after, limit) => {
    const domains = await domainRecords.listAfter(db, account, after, limit)
    return domains.map(({ name_unicode: _, ...line }) => line)
  },
  read: readDomain,
}

function readDomain(members: Members): Store {
  const { name, ...urls } = checkedRecord(storeDomain.read(members))
  const times = timesOf(members)
  return async (tx, { account }) => {
    try {
      return { became: 'stored', id: (await insertDomain(tx, account, name, urls, times)).record.id }
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'name_taken')) throw error
      const existing = await findDomainByName(tx, account, name.name)
      if (existing === undefined) throw new InvalidRecord(`name: ${error.message}`)
      const isSame = existing.homepage_url === urls.homepage_url && existing.not_found_url === urls.not_found_url
      if (isSame) return { became: 'known', id: existing.id }
      throw new InvalidRecord(`name: ${name.name} is there already, with other URLs; its id is ${existing.id}.`)
    }
  }
}
