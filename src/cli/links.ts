import { statuses } from '../links/link.ts'
import { accountId, flag, limit, optional, required, text, withDefault } from './arguments.ts'
import { recordCommand } from './command.ts'

const account = optional('ID', 'the account; optional if there is only one', accountId)
const domain = optional('NAME', 'its domain; optional if only one domain has the alias', text)
const alias = required('ALIAS', 'the path of the short URL, in any case', text)
const notes = 'Put "--" before an alias that starts with a hyphen.'

export const linkCommands = {
  create: recordCommand({
    summary: 'Create a short link and print its short URL.',
    arguments: {
      operand: required('URL', 'the destination', text),
      alias: optional('ALIAS', 'the path of the short URL (default: generated)', text),
      domain: optional('NAME', 'its domain (default: the oldest of the account)', text),
      space: optional('SPACE', 'its space, by ID or name', text),
      title: optional('TEXT', 'a title for people who manage the link', text),
      account,
      json: flag('print the whole record as JSON'),
    },
    run: async (db, { operand: url, ...values }) => (await actions()).create(db, { url, ...values }),
  }),

  list: recordCommand({
    summary: 'List the links, newest first.',
    arguments: {
      search: optional('TEXT', 'only links with this text in their alias, title or URL', text),
      domain: optional('NAME', 'only links on this domain', text),
      space: optional('SPACE', 'only links in the space with this ID or name; 0: only links without a space', text),
      status: optional('STATUS', `only links in this state: ${statuses.join(', ')}`, text),
      limit: withDefault('N', 'how many, from 1 to 1000 (default 25)', '25', limit),
      account,
      json: flag('print the records as JSON'),
    },
    run: async (storage, values, { err }) => (await actions()).list(storage, values, err),
  }),

  show: recordCommand({
    summary: 'Show a link.',
    arguments: { operand: alias, domain, account, json: flag('print the record as JSON') },
    notes,
    run: async (db, { operand: alias, ...values }) => (await actions()).show(db, { alias, ...values }),
  }),

  delete: recordCommand({
    summary: 'Delete a link permanently. Running servers notice within a second.',
    arguments: {
      operand: alias,
      domain,
      yes: flag('do not ask; required without a terminal'),
      account,
    },
    notes,
    run: async (db, { operand: alias, domain, account, yes }, terminal) =>
      (await actions()).remove(db, { alias, domain, account }, yes ? null : terminal),
  }),
}

/** Loads the actions when needed, because loading the rules of all fields takes longer than most commands. */
function actions() {
  return import('./link-actions.ts')
}
