/** The page of a member: their role, sessions and keys, and their removal. */

import { allows } from '../../access/actor.ts'
import { roles } from '../../access/roles.ts'
import { found } from '../../errors.ts'
import { form, required } from '../../forms/form.ts'
import { oneOf, positiveInteger } from '../../forms/rules.ts'
import { type Html, html } from '../../http/html.ts'
import { type Key, listKeys, statusOf } from '../../keys/store.ts'
import { changeRole, removeMember } from '../../members/changes.ts'
import { listInvitations, maxInvitations } from '../../members/invitations.ts'
import type { Member } from '../../members/schema.ts'
import { memberOf, memberRecords, ownersOf } from '../../members/store.ts'
import {
  countLoginTokens,
  type ListedSession,
  listSessions,
  removeSession,
  removeSessions,
} from '../../sessions/store.ts'
import { clearSessionCookie } from '../../sessions/token.ts'
import type { Storage } from '../../storage/port.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { postButton } from '../parts/buttons.ts'
import { checkbox, FormState, radioGroup } from '../parts/fields.ts'
import { capitalize, quantity, timeAgo } from '../parts/format.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { guardedForm, valuesIn } from '../record-forms.ts'
import { roleChoices } from './invitation.ts'
import { factList } from './link-facts.ts'

const home = '/app/people'
const onlyOwner = 'This is the account’s only owner. To change that, make another member an owner first.'

const roleForm = form({ role: required(oneOf(roles, 'The role of the member.')) })

interface Services {
  readonly storage: Storage
}

export function addMemberPages(pages: Pages, services: Services): void {
  const { storage: db } = services
  pages.get(`${home}/:id`, 'members:read', async (request) =>
    memberPage(await requestedMember(request, db), request, db),
  )

  pages.post(`${home}/:id`, 'members:write', async (request) => {
    const { id } = await requestedMember(request, db)
    const { role } = valuesIn(roleForm, { role: request.fields.role })
    await changeRole(db, request.actor, id, role)
    return new Redirect(home, { code: 'role-changed' })
  })

  pages.get(`${home}/:id/remove`, 'members:write', async (request) =>
    removalPage(await requestedMember(request, db), request, db),
  )

  pages.post(`${home}/:id/remove`, 'members:write', async (request) => {
    const { exchange, session, fields } = request
    const id = idParam(request, 'member')
    await removeMember(db, request.actor, id, { keepsKeys: fields.keep_keys === 'true', precondition: null })
    if (id !== session.member?.id) return new Redirect(home, { code: 'member-removed' })
    clearSessionCookie(exchange, pages.isSecure(exchange))
    return new Redirect('/app/sign-in')
  })
  addSessionForm(pages, services)
}

/** Adds the form that ends one session of a member, or all. */
function addSessionForm(pages: Pages, { storage: db }: Services): void {
  pages.post(`${home}/:id/end-sessions`, 'members:write', async (request) => {
    const member = await requestedMember(request, db)
    const owner = { account: request.account, member: member.id }
    const session = positiveInteger(String(request.fields.session ?? ''))
    const path = `${home}/${member.id}`
    if (session === undefined)
      return new Redirect(path, { code: 'sessions-ended', count: await removeSessions(db, owner, null) })
    found((await removeSession(db, owner, session)) || undefined, 'session')
    return new Redirect(path, { code: 'session-ended' })
  })
}

const ways = { oidc: 'Single sign-on', passkey: 'Passkey' } as const

/** Names the ways to sign in. Everyone can also use a link from the server's command line. */
export function signInText(all: Member['sign_in']): string {
  return all.length === 0 ? 'Sign-in link only' : all.map((way) => ways[way]).join(', ')
}

async function requestedMember(request: PageRequest, db: Storage): Promise<Member> {
  const stored = await memberRecords.find(db, request.account, idParam(request, 'member'))
  return memberOf(found(stored, 'member').record)
}

async function isOnlyOwner({ role }: Member, account: number, db: Storage): Promise<boolean> {
  return role === 'owner' && (await db.execute(ownersOf(account).limit(2))).length < 2
}

async function memberPage(member: Member, request: PageRequest, db: Storage): Promise<PageContent> {
  const { account, actor, session } = request
  const { id, name, email, role, sign_in, last_seen_at, created_at } = member
  const now = Date.now()
  const canWrite = allows(actor, 'members:write')
  const isLast = canWrite && (await isOnlyOwner(member, account, db))
  const facts = factList(null, [
    ['Email address', email && html`<bdi>${email}</bdi>`],
    ['Role', canWrite && !isLast ? null : capitalize(role)],
    ['Ways to sign in', signInText(sign_in)],
    ['Last seen', last_seen_at === null ? 'Never' : timeAgo(last_seen_at, now)],
    ['Joined', timeAgo(created_at, now)],
  ])
  const canSeeSessions = allows(actor, 'keys:read')
  const sessions = canSeeSessions ? await listSessions(db, { account, member: id }) : []
  const keys = canSeeSessions ? await activeKeysOf(member, account, db) : []
  const controls = isLast ? html`<p class="muted">${onlyOwner}</p>` : canWrite ? roleSection(member) : null
  const body = html`${facts}${controls}${canSeeSessions ? sessionSection(member, sessions, canWrite) : null}${keySection(keys)}${
    canWrite && !isLast
      ? html`<div class="actions">${confirmLink('Remove member', `${home}/${id}/remove`)}</div>`
      : null
  }`
  const heading = html`<bdi>${name}</bdi>${id === session.member?.id ? ' (you)' : null}`
  return { title: name, heading, section: 'people', body }
}

function roleSection({ id, role }: Member): Html {
  const state = new FormState({ role })
  const choice = radioGroup(state, { name: 'role', label: 'Role', options: roleChoices, isRequired: true })
  return guardedForm(`${home}/${id}`, 'Change role', choice, null)
}

function sessionSection({ id }: Member, sessions: readonly ListedSession[], canEnd: boolean): Html {
  const action = `${home}/${id}/end-sessions`
  if (sessions.length === 0) return html`<section><h2>Sessions</h2><p>Not signed in.</p></section>`
  const now = Date.now()
  const list = table({
    caption: 'Sessions',
    rows: sessions,
    columns: [
      { label: 'Browser', kind: 'lead', cell: ({ browser }: ListedSession) => browser },
      { label: 'Signed in', width: 'large', cell: ({ created_at }) => timeAgo(created_at, now) },
      { label: 'Last used', width: 'large', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
      {
        label: 'Actions',
        kind: 'menu',
        width: 'small',
        cell: (each) => (canEnd ? postButton({ action, label: 'End', fields: { session: String(each.id) } }) : null),
      },
    ],
  })
  const all = canEnd && sessions.length > 1 ? postButton({ action, label: 'End all sessions' }) : null
  return html`<section id="sessions"><h2>Sessions</h2>${list}<div class="actions">${all}</div></section>`
}

/** Returns the keys that a member created and that still work. */
async function activeKeysOf({ id }: Member, account: number, db: Storage): Promise<Key[]> {
  const now = Date.now()
  return (await listKeys(db, account)).filter((key) => key.member_id === id && statusOf(key, now) === 'active')
}

function keySection(keys: readonly Key[]): Html | null {
  return keys.length === 0 ? null : html`<section><h2>API keys they created</h2>${keyTable(keys)}</section>`
}

function keyTable(keys: readonly Key[]): Html {
  const now = Date.now()
  return table({
    caption: 'API keys',
    rows: keys,
    columns: [
      { label: 'Name', kind: 'lead', cell: ({ name }: Key) => html`<bdi>${name}</bdi>` },
      { label: 'Scopes', width: 'rest', cell: ({ scopes }) => scopes.join(', ') },
      { label: 'Last used', width: 'large', cell: ({ last_used_at: at }) => (at ? timeAgo(at, now) : 'Never') },
    ],
  })
}

/** Lists everything that ends, and offers to keep the keys. */
async function removalPage(member: Member, request: PageRequest, db: Storage): Promise<PageContent> {
  const { account, actor } = request
  const { id, name } = member
  const title = `Remove ${name}?`
  if (await isOnlyOwner(member, account, db))
    return { title, section: 'people', body: html`<p>${onlyOwner}</p>`, status: 409 }
  const page = {
    search: [],
    searchIn: [],
    filter: {},
    sortBy: 'id',
    direction: 'desc',
    offset: 0,
    after: null,
  } as const
  const [sessions, links, invitations, keys] = await Promise.all([
    listSessions(db, { account, member: id }),
    countLoginTokens(db, { account, id }),
    listInvitations(db, account, { ...page, limit: maxInvitations }),
    activeKeysOf(member, account, db),
  ])
  const invited = invitations.rows.filter(({ member_id }) => member_id === id)
  const names = invited.map((each) => each.name ?? each.email ?? each.role)
  const things = [
    sessions.length === 0
      ? 'No session: they aren’t signed in'
      : `${quantity(sessions.length, 'session')}, within seconds`,
    ...(links > 0 ? [quantity(links, 'unused sign-in link')] : []),
    ...(invited.length > 0 ? [`${quantity(invited.length, 'invitation')} that they created: ${names.join(', ')}`] : []),
    ...(keys.length > 0 ? [`${quantity(keys.length, 'API key')} that they created`] : []),
  ]
  const keep = checkbox(new FormState({}), {
    name: 'keep_keys',
    label: `Keep ${quantity(keys.length, 'API key')}`,
    help: `For programs that must keep working. ${name} may know the keys.`,
  })
  const notes = html`<p>This ends:</p><ul class="things">${things.map((each) => html`<li><bdi>${each}</bdi></li>`)}</ul>${
    allows(actor, 'keys:read') && keys.length > 0 ? keyTable(keys) : null
  }`
  return confirmation({
    title,
    section: 'people',
    action: `${home}/${id}/remove`,
    notes,
    consequences: [
      `The links of ${name} keep working, and the history keeps the name. A new invitation lets them join again.`,
    ],
    controls: keys.length === 0 ? null : keep,
    verb: `Remove ${name}`,
    cancel: `${home}/${id}`,
  })
}
