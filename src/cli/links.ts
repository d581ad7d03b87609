import { statuses } from '../links/link.ts'
import { accountOf } from './arguments.ts'
import { type Command, jsonOption } from './command.ts'
import { aliasOf, limitOf, optionOf, urlOf } from './link-arguments.ts'

const accountOption = { account: { type: 'string' } } as const
const hyphen = 'An alias that begins with a hyphen is written after "--".'

export const linkCommands = {
  create: {
    summary: 'Make a short link and print its short URL.',
    synopsis: 'URL [--alias ALIAS] [--domain NAME] [--space SPACE] [--title TEXT] [--account ID] [--json]',
    details: `  URL             where the link leads
  --alias ALIAS   the path of the short URL (default: generated)
  --domain NAME   the domain that it is on (default: the oldest of the account)
  --space SPACE   the ID or the name of the space that it is in
  --title TEXT    what it is for
  --account ID    the account of the link; may be left out when there is only one account
  --json          print the whole record as JSON`,
    options: {
      alias: { type: 'string' },
      domain: { type: 'string' },
      space: { type: 'string' },
      title: { type: 'string' },
      ...accountOption,
      ...jsonOption,
    },
    takesOperand: 'other',
    makesDatabase: false,
    prepare: (given) => {
      const [url, account, isJson] = [urlOf(given), accountOf(given), given.values.json === true]
      const [alias, domain] = [optionOf(given, 'alias'), optionOf(given, 'domain')]
      const [space, title] = [optionOf(given, 'space'), optionOf(given, 'title')]
      return async (db) => (await work()).create(db, account, { url, alias, domain, space, title }, isJson)
    },
  },

  list: {
    summary: 'List the links, the newest first.',
    synopsis: '[--search TEXT] [--domain NAME] [--space SPACE] [--status STATUS] [--limit N] [--account ID] [--json]',
    details: `  --search TEXT     only links with this text in their alias, title or URL
  --domain NAME     only links on this domain
  --space SPACE     only links in the space with this ID or name; 0: only links without a space
  --status STATUS   only links in this state: ${statuses.join(', ')}
  --limit N         how many, from 1 to 1000 (default 25)
  --account ID      whose links; may be left out when there is only one account
  --json            print the records as JSON`,
    options: {
      search: { type: 'string' },
      domain: { type: 'string' },
      space: { type: 'string' },
      status: { type: 'string' },
      limit: { type: 'string', default: '25' },
      ...accountOption,
      ...jsonOption,
    },
    takesOperand: false,
    makesDatabase: false,
    prepare: (given) => {
      const [limit, account, isJson] = [limitOf(given), accountOf(given), given.values.json === true]
      const [search, status] = [optionOf(given, 'search'), optionOf(given, 'status')]
      const [domain, space] = [optionOf(given, 'domain'), optionOf(given, 'space')]
      return async (storage, { err }) =>
        (await work()).list(storage, account, { search, status, domain, space, limit }, { isJson, err })
    },
  },

  show: {
    summary: 'Show a link.',
    synopsis: 'ALIAS [--domain NAME] [--account ID] [--json]',
    details: `  ALIAS           the path of its short URL, in any case
  --domain NAME   the domain that it is on; may be left out when only one domain has the alias
  --account ID    the account of the link; may be left out when there is only one account
  --json          print the record as JSON

${hyphen}`,
    options: { domain: { type: 'string' }, ...accountOption, ...jsonOption },
    takesOperand: 'other',
    makesDatabase: false,
    prepare: (given) => {
      const [alias, domain, account] = [aliasOf(given), optionOf(given, 'domain'), accountOf(given)]
      return async (db) => (await work()).show(db, account, { alias, domain }, given.values.json === true)
    },
  },

  delete: {
    summary: 'Delete a link for good. Running servers notice within a second.',
    synopsis: 'ALIAS [--domain NAME] [--yes] [--account ID]',
    details: `  ALIAS           the path of its short URL, in any case
  --domain NAME   the domain that it is on; may be left out when only one domain has the alias
  --yes           do not ask; needed where there is no terminal to ask at
  --account ID    the account of the link; may be left out when there is only one account

${hyphen}`,
    options: { domain: { type: 'string' }, yes: { type: 'boolean' }, ...accountOption },
    takesOperand: 'other',
    makesDatabase: false,
    prepare: (given) => {
      const [alias, domain, account] = [aliasOf(given), optionOf(given, 'domain'), accountOf(given)]
      return async (db, surroundings) =>
        (await work()).remove(db, account, { alias, domain }, given.values.yes === true ? null : surroundings)
    },
  },
} as const satisfies Record<string, Command>

/** Loaded when needed: the rules of all fields take longer to load than most commands take. */
function work() {
  return import('./link-work.ts')
}
