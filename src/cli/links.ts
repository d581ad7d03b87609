/** The commands on links and their further addresses. */
import { quantity } from '../lib/format.ts'
import { addressOperations, type ShownAddress } from '../links/address-schema.ts'
import { linkOperations } from '../links/operations.ts'
import type { Link } from '../links/schema.ts'
import { explainLink } from '../redirect/explain.ts'
import { conditions } from '../rules/conditions.ts'
import type { Explanation } from '../rules/explanation.ts'
import type { RedirectRule } from '../rules/rule.ts'
import { conditionText, describeDecision, describeOutcome } from '../rules/words.ts'
import { flag, required, text } from './arguments.ts'
import { apiCommand } from './client.ts'
import { deletionNote } from './history.ts'
import { listCommand, operationCommand } from './operation-command.ts'
import { isConfirmed, json, shorten, table } from './output.ts'
import { aliasNote, aliasOperand, chooseAddress, chooseLink, domainOption, linkSubject } from './references.ts'
import { readTimeZone } from './stats.ts'

const asJson = 'print the full record as JSON'

export const linkCommands = {
  create: operationCommand<Link>({
    summary: 'Create a short link and print its short URL.',
    operation: linkOperations.store,
    field: 'url',
    arguments: { operand: required('URL', 'the destination', text) },
    json: asJson,
    print: ({ short_url }) => short_url,
  }),

  list: listCommand<Link>({
    summary: 'List the links, newest first.',
    operation: linkOperations.list,
    name: 'links',
    print: linkTable,
  }),

  show: operationCommand<Link>({
    summary: 'Show a link.',
    operation: linkOperations.show,
    subject: linkSubject,
    json: 'print the record as JSON',
    print: (link) => table(Object.entries(link).map(([name, value]) => [name, fieldText(value)])),
  }),

  explain: operationCommand<Link, Explanation>({
    summary: 'Show the response that a visitor gets, and why.',
    operation: explainLink,
    subject: linkSubject,
    json: 'print the explanation as JSON',
    print: async (explanation, { rules }, client) => {
      const isTime = ({ failed }: Explanation['checks'][number]) =>
        failed.some((name) => conditions[name].control === 'time')
      return explanationText(explanation, rules, explanation.checks.some(isTime) ? await readTimeZone(client) : 'UTC')
    },
  }),

  update: operationCommand<Link>({
    summary: 'Change a link and print its short URL. Running servers use the new values within a second.',
    notes: 'Omitted options stay unchanged. An empty value, such as --title "", clears an optional field.',
    operation: linkOperations.patch,
    subject: linkSubject,
    except: ['domain_id'],
    json: asJson,
    print: ({ short_url }) => short_url,
  }),

  delete: operationCommand<Link>({
    summary: `Delete a link within a second, on all servers. ${deletionNote}`,
    operation: linkOperations.delete,
    subject: linkSubject,
    confirm: ({ short_url, url, clicks }) =>
      `Delete ${short_url}, which redirects to ${url} and has ${quantity(clicks, 'click')}?`,
    declined: 'Nothing deleted.',
    print: ({ short_url }) => `The link ${short_url} was deleted.`,
  }),

  addresses: apiCommand({
    summary: 'List the further addresses of a link.',
    arguments: { ...linkSubject.arguments, json: flag('print the addresses as JSON') },
    notes: aliasNote,
    run: async (client, { operand: alias, domain, json: isJson }) => {
      const { id } = await chooseLink(client, alias, domain)
      const addresses = await Array.fromAsync(client.each<ShownAddress>(addressOperations.list, { id }))
      return isJson ? json(addresses) : addressTable(addresses)
    },
  }),

  'add-address': operationCommand<Link, ShownAddress>({
    summary: 'Add a further address to a link and print its short URL.',
    operation: addressOperations.store,
    subject: {
      arguments: { operand: { ...aliasOperand, help: `${aliasOperand.help}, without --domain` } },
      notes: aliasNote,
      choose: (client, { operand: alias = '' }) => chooseLink(client, alias),
    },
    json: asJson,
    print: ({ short_url }) => short_url,
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

function explanationText(explanation: Explanation, rules: Link['rules'], timeZone: string): string {
  const [before, after] = describeOutcome(explanation)
  const lines = explanation.checks.map(({ rule: name, failed }, at) => {
    const texts = failed.map((condition) => conditionText(condition, rules[at] as RedirectRule, timeZone))
    return [name, texts.length === 0 ? 'matches' : `not true: ${texts.join('; ')}`]
  })
  const outcome = [before + (explanation.location ?? '') + after, describeDecision(explanation)]
  const checks = lines.length === 0 ? [] : ['', table([['RULE', 'RESULT'], ...lines])]
  return [...outcome.filter((line) => line !== null), ...checks].join('\n')
}

/** Returns a value of a record. Rules are JSON, as `--rules` takes them. */
function fieldText(value: unknown): string {
  const isRules = Array.isArray(value) && typeof value[0] === 'object'
  return isRules ? JSON.stringify(value) : String(value ?? '-')
}

function linkTable(links: readonly Link[]): string {
  const lines = links.map(({ id, short_url, status, clicks, title, url }) => [
    ...[String(id), short_url, status, String(clicks), shorten(title ?? ''), url],
  ])
  return table([['ID', 'SHORT URL', 'STATUS', 'CLICKS', 'TITLE', 'URL'], ...lines])
}

function addressTable(addresses: readonly ShownAddress[]): string {
  const lines = addresses.map(({ id, short_url, exact, clicks }) => [
    ...[String(id), short_url, exact ? 'exact' : 'any case', String(clicks)],
  ])
  return table([['ID', 'SHORT URL', 'SPELLING', 'CLICKS'], ...lines])
}
