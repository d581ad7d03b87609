/** API key pages: the list, creation and revocation. */

import { allows, type KeyScope, keyScopes, scopes } from '../../access/actor.ts'
import { dayMs } from '../../accounts/calendar.ts'
import { found } from '../../errors.ts'
import { type Field, form, optional, required } from '../../forms/form.ts'
import { boundedText, oneOf } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { createKey, findKey, type IssuedKey, type Key, keyStatus, listKeys, revokeKey } from '../../keys/store.ts'
import { capitalize } from '../../lib/format.ts'
import { textWarnings } from '../../names/suspicious-values.ts'
import type { Storage } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import { slicePage } from '../lists.ts'
import { finalNote } from '../notice-messages.ts'
import { idParam, type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from '../page.ts'
import { controlFor, copyable, linkButton, type Viewer } from '../parts/buttons.ts'
import { checkbox, FormState, radioGroup, selectField, textField } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { confirmation, confirmLink, emptyState } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { warningNotes } from '../parts/warnings.ts'
import { formHandler, newRecordForm, valuesIn } from '../record-forms.ts'
import { authorHistoryPath } from './history-entries.ts'

const home = '/app/keys'

export function addKeyPages(pages: Pages, { storage: db }: { readonly storage: Storage }): void {
  pages.get(home, 'keys:read', async ({ account, actor, query }) => listPage(await listKeys(db, account), query, actor))

  pages.get(`${home}/new`, 'keys:write', async (request) =>
    newPage(new FormState({ task: 'create', expires: '365d' }), request),
  )

  const create: PageHandler = async ({ actor, fields }) => {
    const values = valuesIn(keyForm, fields)
    const { name, expires } = values
    const wanted = { name, scopes: grantedScopes(values), lifetimeMs: lifetimes[expires].ms }
    const issued = await createKey(db, actor, wanted)
    // The secret is not stored, so a repeat cannot show it again.
    return {
      ...issuedPage(issued, actor),
      status: 201,
      repeatRedirect: new Redirect(home, { code: 'key-created-before' }),
    }
  }
  pages.post(home, 'keys:write', formHandler(newPage, create))

  pages.get(`${home}/:id/revoke`, 'keys:write', async (request) => {
    const key = await findKey(db, request.account, idParam(request, 'key'))
    return revokePage(found(key, 'key'))
  })

  pages.post(`${home}/:id/revoke`, 'keys:write', async (request) => {
    await revokeKey(db, request.actor, idParam(request, 'key'))
    return new Redirect(home, 'changes')
  })
}

function listPage(keys: readonly Key[], query: Fields, viewer: Viewer): PageContent {
  const add = linkButton({ label: 'New key', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  const action = controlFor(viewer, 'keys:write', add)
  const why = html`Programs need a key to call <a href="/docs">the API</a>. A key’s scopes limit what it can do.`
  const { rows, pages } = slicePage(keys.toReversed(), home, query)
  const body =
    keys.length === 0
      ? emptyState({ title: 'No API keys yet', why, action })
      : html`<p>${why}</p>${keyTable(rows)}${pages}`
  return { title: 'API keys', section: 'keys', body, ...(keys.length > 0 && { action }) }
}

function keyTable(keys: readonly Key[]): Html {
  const now = Date.now()
  return table({
    caption: 'API keys',
    rows: keys,
    columns: [
      { label: 'Name', kind: 'lead', cell: nameCell },
      { label: 'Scopes', width: 'rest', cell: ({ scopes }) => scopes.map(describeScope).join(', ') },
      { label: 'Created', leaves: 2, cell: ({ created_at }) => timeAgo(created_at, now) },
      { label: 'Last used', leaves: 2, cell: ({ last_used_at: at }) => (at ? timeAgo(at, now) : 'Never') },
      { label: 'Status', cell: (key) => statusCell(key, now) },
      {
        label: 'Actions',
        kind: 'menu',
        width: 'medium',
        cell: (key) =>
          html`<a class="small" href="${authorHistoryPath('key', key.id)}">Changes</a> ${keyStatus(key, now) === 'active' ? confirmLink('Revoke', `${home}/${key.id}/revoke`) : null}`,
      },
    ],
  })
}

function nameCell({ name, created_by, first_characters: first, last_characters: last }: Key): Html {
  const creator = created_by && html`<span class="target">Created by <bdi>${created_by}</bdi></span>`
  return html`<strong><bdi>${name}</bdi></strong>
<code class="target">${first}…${last}</code>${creator}`
}

function statusCell(key: Key, now: number): Html {
  const { revoked_at, expires_at } = key
  const at = revoked_at ?? expires_at
  const isOver = keyStatus(key, now) === 'expired'
  const words = revoked_at !== null ? 'Revoked' : at === null ? 'Never expires' : isOver ? 'Expired' : 'Expires'
  const isRisky = revoked_at === null && at === null && key.scopes.includes('*')
  return html`<span class="whole${isRisky ? ' risky' : ''}">${words}${at === null ? null : html` ${timeAgo(at, now)}`}</span>`
}

/** Labels and lifetimes in milliseconds by form value; null means no expiry. */
const lifetimes = {
  never: { label: 'Never', ms: null },
  '30d': { label: 'In 30 days', ms: 30 * dayMs },
  '90d': { label: 'In 90 days', ms: 90 * dayMs },
  '365d': { label: 'In a year', ms: 365 * dayMs },
} as const
type Lifetime = keyof typeof lifetimes

const lifetimeOptions = Object.entries(lifetimes).map(([value, { label }]) => ({ value, label }))

interface Task {
  readonly label: string
  readonly help: string
  readonly scopes: readonly KeyScope[]
}

const reads = ['links:read', 'domains:read', 'spaces:read', 'tags:read'] as const
const links = [...reads, 'links:write', 'tags:write'] as const

/** What people create keys for, by form value. */
const tasks = {
  reports: { label: 'Reports', help: 'Reads links and their statistics.', scopes: [...reads, 'stats:read'] },
  create: { label: 'Create links', help: 'Creates and changes links and their tags.', scopes: links },
  manage: {
    label: 'Manage links',
    help: 'Also changes spaces, imports files, and reads statistics and the history.',
    scopes: [...links, 'spaces:write', 'stats:read', 'events:read', 'imports:read', 'imports:write'],
  },
  customers: {
    label: 'Set up customers',
    help: 'Creates domains, spaces, tags and links.',
    scopes: [...links, 'domains:write', 'spaces:write'],
  },
  everything: { label: 'Everything', help: 'Includes scopes that later versions add.', scopes: ['*'] },
} as const satisfies Readonly<Record<string, Task>>
const taskNames = Object.keys(tasks) as (keyof typeof tasks)[]

/** Returns a scope in words: "read links". */
export function describeScope(scope: KeyScope): string {
  if (scope === '*') return 'everything'
  const [resource = '', action = ''] = scope.split(':')
  return `${action} ${resource === 'stats' ? 'statistics' : resource}`
}

function newPage(state: FormState, { actor }: PageRequest): PageContent {
  const name = textField(state, {
    name: 'name',
    label: 'Name',
    help: 'The program, person or server that uses this key.',
    hasFocus: true,
    isRequired: true,
  })
  const offered = keyScopes.filter((scope) => allows(actor, scope))
  const hasAll = offered.length === keyScopes.length
  const boxes = [...offered, ...(hasAll ? (['*'] as const) : [])].map((scope) =>
    checkbox(state, { name: scope, label: capitalize(describeScope(scope)) }),
  )
  const offeredTasks = taskNames.filter((task) =>
    tasks[task].scopes.every((scope) => (scope === '*' ? hasAll : allows(actor, scope))),
  )
  const options = [
    ...offeredTasks.map((value) => taskChoice(value, tasks[value])),
    taskChoice('own', { label: 'Something else', help: 'Only the scopes that are checked below.', scopes: [] }),
  ]
  const controls = html`${name}<div class="stack" data-tasks>${radioGroup(state, { name: 'task', label: 'What is it for?', options })}
<fieldset class="field"><legend>Scopes</legend><div class="scopes">${boxes}</div></fieldset></div>
${selectField(state, { name: 'expires', label: 'Expiration', options: lifetimeOptions })}
<p class="attention risk">Whoever gets this key can delete every link, and it never expires. Choose an expiration, or what the program needs.</p>`
  return { title: 'New API key', section: 'keys', body: newRecordForm(home, 'Create key', state.withErrors(controls)) }
}

function taskChoice(value: string, { label, help, scopes }: Task) {
  const words = html`<span data-scopes="${scopes.join(' ')}"><strong>${label}</strong> <span class="muted">${help}</span></span>`
  return { value, label: words }
}

function issuedPage({ key, secret }: IssuedKey, viewer: Viewer): PageContent {
  const notes = warningNotes(textWarnings('name', key.name), viewer)('name')
  const body = html`${notes}<p>Copy this key now, because it’s shown only once. Store it where only the program that uses it can read it.</p>
${copyable(secret, 'the key', 'Copy key')}
<div class="actions">${linkButton({ label: 'Done', href: home, weight: 'primary' })}</div>`
  return { title: `Key ${key.name}`, heading: html`<bdi>${key.name}</bdi>`, section: 'keys', body }
}

function revokePage(key: Pick<Key, 'id' | 'name'>): PageContent {
  return confirmation({
    title: `Revoke ${key.name}?`,
    section: 'keys',
    action: `${home}/${key.id}/revoke`,
    consequences: [
      `Programs can’t use this key anymore, and browsers signed in with it are signed out within seconds. ${finalNote}`,
    ],
    verb: `Revoke ${key.name}`,
    cancel: home,
  })
}

const nameRule = boundedText(255, 'What the key is called in lists.')
const lifetimeRule = oneOf(Object.keys(lifetimes) as Lifetime[], 'The lifetime of the key.')
const scopeRule = oneOf(['true'], 'Whether the key has the scope.')

/** One checkbox for each scope, because forms reject repeated fields. */
const scopeFields = Object.fromEntries(scopes.map((scope) => [scope, optional(scopeRule, null)]))

const taskRule = oneOf([...taskNames, 'own'], 'What the key is for.')

const keyForm = form<{ name: string; expires: Lifetime; task: string } & Readonly<Record<string, unknown>>>(
  {
    ...{ name: required(nameRule), expires: required(lifetimeRule), task: optional(taskRule, 'own') },
    ...(scopeFields as Record<string, Field<unknown>>),
  },
  [],
  (values) => {
    const [scopes, checked] = [grantedScopes(values), checkedScopes(values)]
    if (scopes.length === 0) return [new Refusal('required.any_scope').at('*')]
    // Without scripts, a task doesn't check its scopes.
    const isClear =
      checked.length === 0 || (checked.length === scopes.length && checked.every((one) => scopes.includes(one)))
    return isClear ? [] : [new Refusal('not_allowed.task').at('task')]
  },
)

function checkedScopes(values: Readonly<Record<string, unknown>>): KeyScope[] {
  return scopes.filter((scope) => values[scope] === 'true')
}

/** Returns the scopes of the task, or the checked ones; `*` includes all others. */
function grantedScopes(values: Readonly<Record<string, unknown>>): KeyScope[] {
  const task = taskNames.find((name) => name === values.task)
  if (task !== undefined) return [...tasks[task].scopes]
  const checked = checkedScopes(values)
  return checked.includes('*') ? ['*'] : checked
}
