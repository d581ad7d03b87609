/** The commands on the further addresses of links. */

import { quantity } from '../lib/format.ts'
import { AddressActions, addressesOf } from '../links/address-actions.ts'
import { type ShownAddress, showAddress, storeAddress } from '../links/address-schema.ts'
import type { Storage } from '../storage/port.ts'
import { accountCommand } from './accounts.ts'
import { openActions } from './actions.ts'
import { flag } from './arguments.ts'
import { givenFields, optionsOf, submit } from './form-options.ts'
import { isConfirmed, json, table } from './output.ts'
import {
  aliasNote,
  aliasOperand,
  chooseAddress,
  chooseLink,
  domainOfAlias,
  ownShortUrls,
  withIds,
} from './references.ts'

async function openAddresses(db: Storage) {
  return new AddressActions(db, (await openActions(db)).actions.links)
}

export const addressCommands = {
  addresses: accountCommand({
    summary: 'List the further addresses of a link.',
    arguments: { operand: aliasOperand, domain: domainOfAlias, json: flag('print the addresses as JSON') },
    notes: aliasNote,
    run: async (db, { operand: alias, domain, account, json: isJson }) => {
      const { id } = await chooseLink(db, account, alias, domain)
      const shortUrl = await ownShortUrls(db)
      const addresses = (await addressesOf(db, account, id)).map((address) => showAddress(address, shortUrl))
      return isJson ? json(addresses) : addressTable(addresses)
    },
  }),

  'add-address': accountCommand({
    summary: 'Add a further address to a link and print its short URL.',
    arguments: {
      operand: { ...aliasOperand, help: `${aliasOperand.help}, without --domain` },
      ...optionsOf(storeAddress),
      json: flag('print the full record as JSON'),
    },
    notes: aliasNote,
    run: async (db, { operand: alias, account, actor, json: isJson, ...options }) => {
      const link = await chooseLink(db, account, alias, undefined)
      const fields = await withIds(db, account, givenFields(storeAddress, options))
      const actions = await openAddresses(db)
      const address = await submit(storeAddress, fields, () => actions.insertion(actor, link.id, fields)(db))
      const shown = showAddress(address, await ownShortUrls(db))
      return isJson ? json(shown) : shown.short_url
    },
  }),

  'delete-address': accountCommand({
    summary: 'Delete a further address of a link within a second, on all servers. The link stays.',
    arguments: {
      operand: { ...aliasOperand, help: 'the short URL of the address, or its alias' },
      domain: domainOfAlias,
      yes: flag('delete without asking (required without a terminal)'),
    },
    notes: aliasNote,
    run: async (db, { operand: alias, domain, account, actor, yes }, terminal) => {
      const address = await chooseAddress(db, account, alias, domain)
      const { id, short_url, clicks } = showAddress(address, await ownShortUrls(db))
      const question = `Delete the address ${short_url}, which has ${quantity(clicks, 'click')}?`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing deleted.', code: 1 }
      await (await openAddresses(db)).remove(actor, address.link_id, id)
      return `The address ${short_url} was deleted.`
    },
  }),
}

function addressTable(addresses: readonly ShownAddress[]): string {
  const lines = addresses.map(({ id, short_url, exact, clicks }) => [
    String(id),
    short_url,
    exact ? 'exact' : 'any case',
    String(clicks),
  ])
  return table([['ID', 'SHORT URL', 'SPELLING', 'CLICKS'], ...lines])
}
