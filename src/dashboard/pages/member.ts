/** The page of a member: their role, sessions and keys, and their removal. */

import { allows } from '../../access/actor.ts'
import { found, lastOwner } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import { readText } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { type Key, listActiveMemberKeys } from '../../keys/store.ts'
import { capitalize, quantity } from '../../lib/format.ts'
import { changeMember, isLastOwner, removeMember } from '../../members/changes.ts'
import { listAllInvitations } from '../../members/invitations.ts'
import { type Member, updateMember } from '../../members/schema.ts'
import { type MemberRow, memberRecords, memberWarnings, toMember } from '../../members/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import {
  countLoginTokens,
  type ListedSession,
  listSessions,
  removeSession,
  removeSessions,
} from '../../sessions/store.ts'
import type { Storage } from '../../storage/port.ts'
import { idParam, type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from '../page.ts'
import { actionRow, postButton, type Viewer } from '../parts/buttons.ts'
import { checkbox, FormState } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'
import { accessEndField, roleField, sessionTable, signInText } from '../parts/people.ts'
import { table } from '../parts/table.ts'
import { formZone, timeValues, withUtcTimes } from '../parts/time-zones.ts'
import { warningNotes } from '../parts/warnings.ts'
import { formHandler, guardedForm, valuesIn } from '../record-forms.ts'
import { loadMemberHistory } from './history-entries.ts'
import { describeScope } from './keys.ts'
import { factList } from './link-facts.ts'

const home = '/app/people'
/** About the last owner, if groups at the sign-in service set their role. */
export const keptOwner = 'This member stays an owner because the account has no other.'
const onlyOwner = 'This is the account’s only owner. To change that, make another member an owner first.'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
}

export function addMemberPages(pages: Pages, services: Services): void {
  const { storage: db } = services
  const page = async (state: FormState | null, request: PageRequest) =>
    memberPage(await requestedRow(request, db), state, request, services)
  pages.get(`${home}/:id`, 'members:read', (request) => page(null, request))

  const save: PageHandler = async (request) => {
    const { id } = await requestedMember(request, db)
    const fields = withUtcTimes(request.fields, ['access_ends_at'], formZone(request))
    const { role, access_ends_at } = valuesIn(updateMember, fields)
    await changeMember(db, request.actor, id, { role, access_ends_at })
    return new Redirect(home, 'changes')
  }
  pages.post(`${home}/:id`, 'members:write', formHandler(page, save))

  pages.get(`${home}/:id/remove`, 'members:write', async (request) =>
    removalPage(await requestedMember(request, db), request, db),
  )

  pages.post(`${home}/:id/remove`, 'members:write', async (request) => {
    const { exchange, session, fields } = request
    const id = idParam(request, 'member')
    await removeMember(db, request.actor, id, { keepsKeys: fields.keep_keys === 'true', precondition: null })
    if (id !== session.member?.id) return new Redirect(home, 'changes')
    return pages.signOut(exchange)
  })
  addSessionForm(pages, services)
}

/** Adds the form that ends one session of a member, or all. */
function addSessionForm(pages: Pages, { storage: db }: Services): void {
  pages.post(`${home}/:id/end-sessions`, 'members:write', async (request) => {
    const member = await requestedMember(request, db)
    const owner = { account: request.account, member: member.id }
    const session = positiveInteger(readText(request.fields.session))
    const path = `${home}/${member.id}`
    if (session === undefined)
      return new Redirect(path, { code: 'sessions-ended', count: await removeSessions(db, owner, null) })
    found((await removeSession(db, owner, session)) || undefined, 'session')
    return new Redirect(path, { code: 'sessions-ended', count: 1 })
  })
}

async function requestedRow(request: PageRequest, db: Storage): Promise<MemberRow> {
  return found(await memberRecords.find(db, request.account, idParam(request, 'member')), 'member').record
}

async function requestedMember(request: PageRequest, db: Storage): Promise<Member> {
  return toMember(await requestedRow(request, db))
}

/** `state` is the form that was sent. */
async function memberPage(
  row: MemberRow,
  state: FormState | null,
  request: PageRequest,
  services: Services,
): Promise<PageContent> {
  const { storage: db } = services
  const member = toMember(row)
  const { account, actor, session } = request
  const { id, name } = member
  const canWrite = allows(actor, 'members:write')
  const isLast = canWrite && (await isLastOwner(db, account, member))
  if (isLast && state !== null) throw lastOwner()
  const facts = memberFacts(member, canWrite && !isLast)
  const canSeeSessions = allows(actor, 'keys:read')
  const sessions = canSeeSessions ? await listSessions(db, { account, member: id }) : []
  const keys = canSeeSessions ? await listActiveMemberKeys(db, account, id) : []
  const controls = isLast
    ? html`<p class="muted">${onlyOwner}</p>`
    : canWrite
      ? accessForm(member, state, formZone(request))
      : null
  const body = html`${facts}${roleNotes(row, isLast, actor)}${controls}${canSeeSessions ? sessionSection(member, sessions, session.id, canWrite) : null}${keySection(keys)}${await loadMemberHistory({ ...services, timeZone: formZone(request) }, actor, id, `${home}/${id}`)}${
    canWrite && !isLast
      ? html`<div class="actions">${confirmLink('Remove member', `${home}/${id}/remove`)}</div>`
      : null
  }`
  const heading = html`<bdi>${name}</bdi>${id === session.member?.id ? ' (you)' : null}`
  return { title: name, heading, section: 'people', body }
}

/** `isEdited`: the form below has the role and the end of the access. */
function memberFacts(member: Member, isEdited: boolean): Html {
  const { email, role, access_ends_at, sign_in, last_seen_at, created_at } = member
  const now = Date.now()
  return factList(null, [
    ['Email address', email && html`<bdi>${email}</bdi>`],
    ['Role', isEdited ? null : capitalize(role)],
    ['Access ends', isEdited || access_ends_at === null ? null : timeAgo(access_ends_at, now)],
    ['Ways to sign in', signInText(sign_in)],
    ['Last seen', last_seen_at === null ? 'Never' : timeAgo(last_seen_at, now)],
    ['Joined', timeAgo(created_at, now)],
  ])
}

/** Says what a sign-in with groups does with a role. Returns null if groups don't set it. */
function roleNotes(row: MemberRow, isLast: boolean, viewer: Viewer): Html | null {
  if (isLast && row.has_oidc_role === 1) return html`<p>${keptOwner}</p>`
  return warningNotes(memberWarnings(row), viewer)('role')
}

function accessForm({ id, role, access_ends_at }: Member, sent: FormState | null, zone: string): Html {
  const state = sent ?? new FormState({ role, ...timeValues('access_ends_at', access_ends_at, zone) })
  const controls = html`${roleField(state)}${accessEndField(state, zone)}`
  return guardedForm(`${home}/${id}`, 'Save', state.withErrors(controls), null)
}

function sessionSection({ id }: Member, sessions: readonly ListedSession[], own: number, canEnd: boolean): Html {
  if (sessions.length === 0) return html`<section id="sessions"><h2>Sessions</h2><p>Not signed in.</p></section>`
  const action = `${home}/${id}/end-sessions`
  const list = sessionTable(sessions, own, (session) =>
    canEnd ? postButton({ action, label: 'End', fields: { session: String(session.id) } }) : null,
  )
  const all = canEnd && sessions.length > 1 ? postButton({ action, label: 'End all sessions' }) : null
  return html`<section id="sessions"><h2>Sessions</h2>${list}${actionRow([all])}</section>`
}

function keySection(keys: readonly Key[]): Html | null {
  return keys.length === 0 ? null : html`<section id="keys"><h2>API keys they created</h2>${keyTable(keys)}</section>`
}

function keyTable(keys: readonly Key[]): Html {
  const now = Date.now()
  return table({
    caption: 'API keys',
    rows: keys,
    columns: [
      { label: 'Name', kind: 'lead', cell: ({ name }: Key) => html`<bdi>${name}</bdi>` },
      { label: 'Scopes', width: 'rest', cell: ({ scopes }) => scopes.map(describeScope).join(', ') },
      { label: 'Last used', width: 'large', cell: ({ last_used_at: at }) => (at ? timeAgo(at, now) : 'Never') },
    ],
  })
}

const rejoining =
  'If single sign-on gives them a role by their groups, they join again at the next sign-in: remove them there, too.'

/** Lists everything that ends, and offers to keep the keys. */
async function removalPage(member: Member, request: PageRequest, db: Storage): Promise<PageContent> {
  const { account, actor } = request
  const { id, name, sign_in } = member
  const title = `Remove ${name}?`
  if (await isLastOwner(db, account, member))
    return { title, section: 'people', body: html`<p>${onlyOwner}</p>`, status: 409 }
  const [sessions, links, invitations, keys] = await Promise.all([
    listSessions(db, { account, member: id }),
    countLoginTokens(db, { account, id }),
    listAllInvitations(db, account),
    listActiveMemberKeys(db, account, id),
  ])
  const invited = invitations.filter(({ member_id }) => member_id === id)
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
      ...(sign_in.includes('oidc') ? [rejoining] : []),
    ],
    controls: keys.length === 0 ? null : keep,
    verb: `Remove ${name}`,
    cancel: `${home}/${id}`,
  })
}
