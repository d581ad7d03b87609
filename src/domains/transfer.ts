import { Failure } from '../errors.ts'
import type { HostName } from '../names/host-name.ts'
import { resources } from '../resources.ts'
import type { Db } from '../storage/port.ts'
import {
  checkedRecord,
  InvalidRecord,
  type Stored,
  type Times,
  type Transferable,
  timesOf,
} from '../transfer/transferable.ts'
import { storeDomain } from './schema.ts'
import { domainsAfter, findDomainByName, insertDomain } from './store.ts'

/** Domains in exports and imports. A domain is recognised by its name, which is unique in the whole instance. */
export const domainTransfer: Transferable = {
  plural: 'domains',
  singular: resources.domains.singular,
  after: async (db, account, after, limit) => {
    const domains = await domainsAfter(db, account, after, limit)
    return domains.map(({ name_unicode: _, ...line }) => line)
  },
  read: (members) => {
    const { name, ...urls } = checkedRecord(storeDomain.read(members))
    const times = timesOf(members)
    return (tx, { account }) => store(tx, account, name, urls, times)
  },
}

interface Urls {
  readonly homepage_url: string | null
  readonly not_found_url: string | null
}

async function store(tx: Db, account: number, name: HostName, urls: Urls, times: Times | undefined): Promise<Stored> {
  try {
    const { record } = await insertDomain(tx, account, name, urls, times)
    return { became: 'stored', id: record.id }
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'name_taken')) throw error
    const there = await findDomainByName(tx, account, name.name)
    if (there === undefined) throw new InvalidRecord(`name: ${error.message}`)
    const isSame = there.homepage_url === urls.homepage_url && there.not_found_url === urls.not_found_url
    if (isSame) return { became: 'known', id: there.id }
    throw new InvalidRecord(`name: ${name.name} is there already, with other URLs; its id is ${there.id}.`)
  }
}
