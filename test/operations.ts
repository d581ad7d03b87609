/**
 * Everything that programs and people can do: the operations of the API by scope, the pages and forms of the dashboard by
 * role, and entries that change no record. `changes.ts` has what changes one. The tables are written by hand from the contract,
 * and `operations.test.ts` fails if an entry is missing.
 */
const words = (text: string) => text.trim().split(/\s+/)

/** The operations of the API by the scope that they need, in section 3 of the contract. */
export const operationsByScope: Readonly<Record<string, readonly string[]>> = {
  'domains:read': ['listDomains', 'showDomain'],
  'domains:write': ['storeDomain', 'updateDomainByPut', 'updateDomain', 'deleteDomain'],
  'spaces:read': ['listSpaces', 'showSpace'],
  'spaces:write': ['storeSpace', 'updateSpaceByPut', 'updateSpace', 'deleteSpace'],
  'tags:read': ['listTags', 'showTag'],
  'tags:write': ['storeTag', 'updateTagByPut', 'updateTag', 'deleteTag', 'mergeTag'],
  'links:read': words('listLinks showLink exportLinks showLinkQr explainLink listAddresses showAddress'),
  'links:write': words(
    'storeLink updateLinkByPut updateLink deleteLink storeLinks updateLinks deleteLinks deleteLinkClicks storeAddress deleteAddress',
  ),
  'stats:read': ['showStats'],
  'events:read': ['listEvents', 'showEvent', 'exportEvents'],
  'members:read': ['listMembers', 'showMember', 'listInvitations', 'showInvitation'],
  'members:write': words('updateMemberByPut updateMember removeMember storeInvitation deleteInvitation'),
  'imports:read': ['listImports', 'showImport', 'listImportRows'],
  // They also need links:write.
  'imports:write': ['planImport', 'applyImport', 'proveImport', 'cancelProof', 'undoImport'],
  // They check the record of the event.
  any: ['undoEvent', 'undoEvents', 'showOwnKey'],
}

export const roles = ['viewer', 'editor', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]
export const rank = (role: Role) => roles.indexOf(role)

const actionsOf = (home: string, names: string) => words(names).map((name) => `${home}/:id/${name}`)
const forms = (home: string) => [`GET ${home}/new`, `POST ${home}`, `GET ${home}/:id/edit`, `POST ${home}/:id`]
const withForm = (...paths: string[]) => paths.flatMap((path) => [`GET ${path}`, `POST ${path}`])
const statistics =
  /^GET \/app(?:\/(?:links|domains|spaces|tags)\/:id)?\/(?:clicks\.csv|(?:countries|referrers|browsers|operating-systems|devices|languages|rules|top-links|top-spaces|top-domains|referrers\/:host\/links)(?:\.csv)?)$/

/** Returns whether the path of a page is one of statistics, which are half of the pages. */
export function isStatistics(path: string): boolean {
  const template = path.replace(/\/\d+(?=\/)/, '/:id').replace(/referrers\/[^/]+\/links/, 'referrers/:host/links')
  return statistics.test(`GET ${template}`)
}

/** The pages and forms that need no session, or only a session. */
const open = words(`/app/sign-in /app/sign-in/passkey /app/sign-in/passkey/options /app/sign-out /app/scheme
  /app/static/:version/:name /app/join /app/join/passkey /app/join/passkey-options /app/join/oidc /app/*
  /app/dismiss /app/dismiss-ending /app/about /app/switch /app/sessions /app/account
  /app/profile /app/profile/time-zone /app/profile/sessions/:id/end /app/profile/sessions/end-all
  /app/profile/sessions/end-others /app/profile/passkeys/new /app/profile/passkeys/options /app/profile/passkeys
  /app/profile/passkeys/:id/remove`)

/** The lowest role of each other page and form, in section 19 of the contract. */
export const pagesByRole: Readonly<Record<Role, readonly string[]>> = {
  viewer: [
    ...words(`/app /app/links /app/links.csv /app/links/:id /app/links/:id/qr /app/links/selected /app/links/compare
      /app/links/compare/clicks.csv /app/links/import /app/import /app/import/:id /app/domains /app/domains/:id /app/domains/:id/qr/example /app/spaces /app/spaces/:id
      /app/tags /app/tags/:id /app/history /app/history.csv /app/history/undo /app/people /app/people/:id`).map(
      (path) => `GET ${path}`,
    ),
    // Both check what the form is about.
    'POST /app/links/selected',
    'POST /app/history/undo',
  ],
  editor: [
    ...forms('/app/links'),
    ...withForm(...actionsOf('/app/links', 'delete delete-statistics addresses/:address_id/delete')),
    ...withForm('/app/import/:id/undo'),
    ...words('/app/import /app/import/:id /app/import/:id/apply /app/import/:id/proof /app/import/:id/proof/stop').map(
      (path) => `POST ${path}`,
    ),
    'POST /app/links/:id/addresses',
    'GET /app/links/move',
    ...actionsOf('/app/links', 'enable disable archive unarchive').map((path) => `POST ${path}`),
    ...forms('/app/spaces'),
    ...withForm('/app/spaces/:id/delete'),
    ...forms('/app/tags'),
    ...withForm('/app/tags/:id/delete', '/app/tags/:id/merge'),
  ],
  admin: [
    ...forms('/app/domains'),
    ...withForm(...actionsOf('/app/domains', 'delete qr qr/reset')),
    'POST /app/domains/:id/check',
    ...withForm('/app/keys', '/app/keys/:id/revoke'),
    'GET /app/keys/new',
  ],
  owner: [
    'POST /app/account',
    ...words('/app/people/:id /app/people /app/people/invitations/:id/revoke /app/people/:id/end-sessions').map(
      (path) => `POST ${path}`,
    ),
    'GET /app/people/invite',
    ...withForm('/app/people/:id/remove'),
  ],
}

/** Returns the lowest role that may use a page or form; undefined if the tables have no entry for it. */
export function lowestRole(method: string, template: string): Role | undefined {
  const route = `${method} ${template}`
  const role = roles.find((each) => pagesByRole[each].includes(route))
  return role ?? (statistics.test(route) || open.includes(template) ? 'viewer' : undefined)
}

/** The operations, forms and commands that change no record of an account, with the reason. */
export const readers = {
  operations: {
    planImport: 'It stores a plan.',
    proveImport: 'It stores responses of other services.',
    cancelProof: 'It stops a job.',
  },
  forms: {
    '/app/sign-in': 'It starts a session.',
    '/app/sign-in/passkey': 'It starts a session.',
    '/app/profile/passkeys': 'Passkeys belong to a person, not to an account.',
    '/app/profile/passkeys/:id/remove': 'Passkeys belong to a person, not to an account.',
    '/app/sign-out': 'It ends a session.',
    '/app/profile/sessions/:id/end': 'It ends a session.',
    '/app/profile/sessions/end-all': 'It ends sessions.',
    '/app/profile/sessions/end-others': 'It ends sessions.',
    '/app/people/:id/end-sessions': 'It ends sessions.',
    '/app/profile/time-zone': 'The time zone belongs to a person, not to an account.',
    '/app/switch': 'It changes a session.',
    '/app/join': 'Its events are in the account of the invitation, and have the new member as their author.',
    '/app/import': 'It stores a plan.',
    '/app/import/:id/proof': 'It stores responses of other services.',
    '/app/import/:id/proof/stop': 'It stops a job.',
    '/app/scheme': 'It sets a cookie.',
    '/app/dismiss': 'It sets a cookie.',
    '/app/dismiss-ending': 'It sets a cookie.',
    '/app/domains/:id/check': 'It stores what the server has observed, not a value of the domain.',
  },
  commands: {
    ...Object.fromEntries(
      [
        ...['domains list', 'spaces list', 'tags list', 'keys list', 'accounts list', 'links list', 'links show'],
        ...['links addresses', 'links explain', 'move list', 'move show', 'move rows'],
        ...['oidc check', 'members list', 'invitations list'],
        ...['links export', 'links qr', 'stats', 'history', 'backup', 'export', 'export clicks', 'completion'],
      ].map((name) => [name, 'It reads.']),
    ),
    start: 'It starts the server.',
    'accounts create': 'The history of an account begins after it.',
    'login-link': 'It creates a sign-in link.',
    'members forget': 'It removes a name from events.',
    'move plan': 'It stores no link.',
    'move proof': 'It stores responses of other services.',
    migrate: 'It changes the schema.',
    restore: 'It replaces the database together with its events.',
  },
}
