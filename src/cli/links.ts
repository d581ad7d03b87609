/** The commands on single links and the list. */
import { deletionQuery } from '../api/handlers.ts'
import { quantity } from '../lib/format.ts'
import { linkOperations } from '../links/operations.ts'
import { type Link, storeLink, updateLink } from '../links/schema.ts'
import { explainLink } from '../redirect/explain.ts'
import { conditions } from '../rules/conditions.ts'
import { type Explanation, explainQuery } from '../rules/explanation.ts'
import type { RedirectRule } from '../rules/rule.ts'
import { conditionText, describeDecision, describeOutcome } from '../rules/words.ts'
import { flag, required, text } from './arguments.ts'
import { apiCommand } from './client.ts'
import { formOptions, givenFields, requireChange } from './form-options.ts'
import { deletionNote } from './history.ts'
import { listCommand } from './lists.ts'
import { isConfirmed, json, shorten, table } from './output.ts'
import { aliasNote, aliasOperand, chooseLink, domainOption, withIds } from './references.ts'
import { readTimeZone } from './stats.ts'

const yes = flag('delete without asking (required without a terminal)')
const asJson = flag('print the full record as JSON')

export const linkCommands = {
  create: apiCommand({
    summary: 'Create a short link and print its short URL.',
    arguments: {
      operand: required('URL', 'the destination', text),
      ...formOptions(storeLink, ['url']),
      json: asJson,
    },
    run: async (client, { operand: url, json: isJson, ...options }) => {
      const fields = await withIds(client, givenFields(storeLink, { ...options, url }))
      const { data } = await client.call<Link>(linkOperations.store, { fields, operand: 'url' })
      return isJson ? json(data) : data.short_url
    },
  }),

  list: listCommand('links', linkOperations.list, linkTable),

  show: apiCommand({
    summary: 'Show a link.',
    arguments: { operand: aliasOperand, domain: domainOption, json: flag('print the record as JSON') },
    notes: aliasNote,
    run: async (client, { operand: alias, domain, json: isJson }) => {
      const link = await chooseLink(client, alias, domain)
      return isJson ? json(link) : table(Object.entries(link).map(([name, value]) => [name, fieldText(value)]))
    },
  }),

  explain: apiCommand({
    summary: 'Show the response that a visitor gets, and why.',
    arguments: {
      operand: aliasOperand,
      domain: domainOption,
      ...formOptions(explainQuery),
      json: flag('print the explanation as JSON'),
    },
    notes: aliasNote,
    run: async (client, { operand: alias, domain, json: isJson, ...options }) => {
      const { id, rules } = await chooseLink(client, alias, domain)
      const fields = givenFields(explainQuery, options)
      const { data } = await client.call<Explanation>(explainLink, { id, fields })
      if (isJson) return json(data)
      const hasTimes = data.checks.some(({ failed }) => failed.some((name) => conditions[name].control === 'time'))
      return explanationText(data, rules, hasTimes ? await readTimeZone(client) : 'UTC')
    },
  }),

  update: apiCommand({
    summary: 'Change a link and print its short URL. Running servers use the new values within a second.',
    arguments: {
      operand: aliasOperand,
      ...formOptions(updateLink, ['domain_id']),
      domain: domainOption,
      json: asJson,
    },
    notes: `Omitted options stay unchanged. An empty value, such as --title "", clears an optional field.
${aliasNote}`,
    check: ({ domain: _, ...options }) => requireChange(updateLink, options),
    run: async (client, { operand: alias, domain, json: isJson, ...options }) => {
      const { id } = await chooseLink(client, alias, domain)
      const fields = await withIds(client, givenFields(updateLink, options))
      const { data } = await client.call<Link>(linkOperations.patch, { id, fields })
      return isJson ? json(data) : data.short_url
    },
  }),

  delete: apiCommand({
    summary: `Delete a link within a second, on all servers. ${deletionNote}`,
    arguments: { operand: aliasOperand, domain: domainOption, ...formOptions(deletionQuery), yes },
    notes: aliasNote,
    run: async (client, { operand: alias, domain, yes, ...options }, terminal) => {
      const { id, short_url, url, clicks } = await chooseLink(client, alias, domain)
      const question = `Delete ${short_url}, which redirects to ${url} and has ${quantity(clicks, 'click')}?`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing deleted.', code: 1 }
      await client.call(linkOperations.delete, { id, fields: givenFields(deletionQuery, options) })
      return `The link ${short_url} was deleted.`
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
    String(id),
    short_url,
    status,
    String(clicks),
    shorten(title ?? ''),
    url,
  ])
  return table([['ID', 'SHORT URL', 'STATUS', 'CLICKS', 'TITLE', 'URL'], ...lines])
}
