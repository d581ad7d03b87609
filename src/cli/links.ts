/** The commands on single links and the list. They use the forms, checks and store of the API. */

import { calendarOf } from '../accounts/calendar.ts'
import { findTimeZones } from '../accounts/store.ts'
import { deletionQuery, insertRecord } from '../api/handlers.ts'
import { findWarnings } from '../api/warnings.ts'
import { toPageRequest } from '../forms/list-query.ts'
import { quantity } from '../lib/format.ts'
import { listLinksQuery } from '../links/filters.ts'
import { linkWarnings } from '../links/link-warnings.ts'
import { linkHandlers } from '../links/routes.ts'
import { type Link, linkOf, storeLink, updateLink } from '../links/schema.ts'
import { explainer } from '../redirect/explain.ts'
import { resources } from '../resources.ts'
import { type Explanation, explainQuery } from '../rules/explanation.ts'
import { parseRules, type RedirectRule } from '../rules/rule.ts'
import { conditionText, describeDecision, describeOutcome } from '../rules/words.ts'
import type { Storage } from '../storage/port.ts'
import { accountCommand } from './accounts.ts'
import { openActions } from './actions.ts'
import { flag, required, text } from './arguments.ts'
import { givenFields, optionsOf, requireChange, submit, writeWarnings } from './form-options.ts'
import { deletionNote } from './history.ts'
import { isConfirmed, json, shorten, table } from './output.ts'
import { aliasNote, aliasOperand, chooseLink, domainOfAlias, ownShortUrls, withIds } from './references.ts'
import { listCommand } from './resources.ts'

const yes = flag('delete without asking (required without a terminal)')
const asJson = flag('print the full record as JSON')

async function openLinks(db: Storage) {
  const { links } = (await openActions(db)).actions
  const shortUrl = await ownShortUrls(db)
  return { handlers: { ...linkHandlers(db, links, shortUrl), warnings: linkWarnings(shortUrl) } }
}

export const linkCommands = {
  create: accountCommand({
    summary: 'Create a short link and print its short URL.',
    arguments: {
      operand: required('URL', 'the destination', text),
      ...optionsOf(storeLink, ['url']),
      json: asJson,
    },
    run: async (db, { operand: url, account, actor, json: isJson, ...options }, terminal) => {
      const fields = await withIds(db, account, givenFields(storeLink, { ...options, url }))
      const { handlers } = await openLinks(db)
      const insert = () => insertRecord(handlers, db, actor, fields)
      const { record } = await submit(storeLink, fields, insert, 'url')
      writeWarnings(terminal, await findWarnings(handlers, db, actor, record, fields))
      return isJson ? json(record) : record.short_url
    },
  }),

  list: listCommand(
    'links',
    listLinksQuery,
    async (db, account, query) => (await openLinks(db)).handlers.list(account, toPageRequest(query, resources.links)),
    linkTable,
  ),

  show: accountCommand({
    summary: 'Show a link.',
    arguments: { operand: aliasOperand, domain: domainOfAlias, json: flag('print the record as JSON') },
    notes: aliasNote,
    run: async (db, { operand: alias, domain, account, json: isJson }) => {
      const row = await chooseLink(db, account, alias, domain)
      const link = linkOf(row, await ownShortUrls(db))
      return isJson ? json(link) : table(Object.entries(link).map(([name, value]) => [name, fieldText(value)]))
    },
  }),

  explain: accountCommand({
    summary: 'Show the response that a visitor gets, and why.',
    arguments: {
      operand: aliasOperand,
      domain: domainOfAlias,
      ...optionsOf(explainQuery),
      json: flag('print the explanation as JSON'),
    },
    notes: aliasNote,
    run: async (db, { operand: alias, domain, account, json: isJson, ...options }) => {
      const row = await chooseLink(db, account, alias, domain)
      const fields = givenFields(explainQuery, options)
      const explain = explainer(db, await ownShortUrls(db))
      const explanation = await submit(explainQuery, fields, () => explain(account, row.id, fields))
      if (isJson) return json(explanation)
      const { timeZone } = calendarOf(await findTimeZones(db, account))
      return explanationText(explanation, parseRules(row), timeZone)
    },
  }),

  update: accountCommand({
    summary: 'Change a link and print its short URL. Running servers use the new values within a second.',
    arguments: {
      operand: aliasOperand,
      ...optionsOf(updateLink, ['domain_id']),
      domain: domainOfAlias,
      json: asJson,
    },
    notes: `Omitted options stay unchanged. An empty value, such as --title "", clears an optional field.
${aliasNote}`,
    check: ({ domain: _, ...options }) => requireChange(updateLink, options),
    run: async (db, { operand: alias, domain, account, actor, json: isJson, ...options }, terminal) => {
      const row = await chooseLink(db, account, alias, domain)
      const fields = await withIds(db, account, givenFields(updateLink, options))
      const { handlers } = await openLinks(db)
      const { record } = await submit(updateLink, fields, () => handlers.change(actor, row.id, fields, null))
      writeWarnings(terminal, await findWarnings(handlers, db, actor, record, fields))
      return isJson ? json(record) : record.short_url
    },
  }),

  delete: accountCommand({
    summary: `Delete a link within a second, on all servers. ${deletionNote}`,
    arguments: { operand: aliasOperand, domain: domainOfAlias, ...optionsOf(deletionQuery), yes },
    notes: aliasNote,
    run: async (db, { operand: alias, domain, account, actor, yes, ...options }, terminal) => {
      const row = await chooseLink(db, account, alias, domain)
      const { short_url, url, clicks } = linkOf(row, await ownShortUrls(db))
      const question = `Delete ${short_url}, which redirects to ${url} and has ${quantity(clicks, 'click')}?`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing deleted.', code: 1 }
      const fields = givenFields(deletionQuery, options)
      const { handlers } = await openLinks(db)
      await handlers.remove(actor, row.id, fields, null)
      return `The link ${short_url} was deleted.`
    },
  }),
}

function explanationText(explanation: Explanation, rules: readonly RedirectRule[], timeZone: string): string {
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
