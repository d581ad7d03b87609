/** The commands on the further addresses of links. */
import { quantity } from '../lib/format.ts'
import { addressOperations, type ShownAddress, storeAddress } from '../links/address-schema.ts'
import { flag } from './arguments.ts'
import { apiCommand } from './client.ts'
import { formOptions, givenFields } from './form-options.ts'
import { isConfirmed, json, table } from './output.ts'
import { aliasNote, aliasOperand, chooseAddress, chooseLink, domainOption, withIds } from './references.ts'

export const addressCommands = {
  addresses: apiCommand({
    summary: 'List the further addresses of a link.',
    arguments: { operand: aliasOperand, domain: domainOption, json: flag('print the addresses as JSON') },
    notes: aliasNote,
    run: async (client, { operand: alias, domain, json: isJson }) => {
      const { id } = await chooseLink(client, alias, domain)
      const addresses = await Array.fromAsync(client.each<ShownAddress>(addressOperations.list, { id }))
      return isJson ? json(addresses) : addressTable(addresses)
    },
  }),

  'add-address': apiCommand({
    summary: 'Add a further address to a link and print its short URL.',
    arguments: {
      operand: { ...aliasOperand, help: `${aliasOperand.help}, without --domain` },
      ...formOptions(storeAddress),
      json: flag('print the full record as JSON'),
    },
    notes: aliasNote,
    run: async (client, { operand: alias, json: isJson, ...options }) => {
      const { id } = await chooseLink(client, alias, undefined)
      const fields = await withIds(client, givenFields(storeAddress, options))
      const { data } = await client.call<ShownAddress>(addressOperations.store, { id, fields })
      return isJson ? json(data) : data.short_url
    },
  }),

  'delete-address': apiCommand({
    summary: 'Delete a further address of a link within a second, on all servers. The link stays.',
    arguments: {
      operand: { ...aliasOperand, help: 'the short URL of the address, or its alias' },
      domain: domainOption,
      yes: flag('delete without asking (required without a terminal)'),
    },
    notes: aliasNote,
    run: async (client, { operand: alias, domain, yes }, terminal) => {
      const { link, address } = await chooseAddress(client, alias, domain)
      const { id: address_id, short_url, clicks } = address
      const question = `Delete the address ${short_url}, which has ${quantity(clicks, 'click')}?`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing deleted.', code: 1 }
      await client.call(addressOperations.delete, { id: link.id, address_id })
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
