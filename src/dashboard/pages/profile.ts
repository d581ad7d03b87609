/** The profile: the viewer's name, time zone, passkeys, accounts and sessions. */

import { calendarOf } from '../../accounts/calendar.ts'
import { notFound } from '../../errors.ts'
import { change, form, required } from '../../forms/form.ts'
import { type Fields, readText } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { parseTimeZone } from '../../lib/time-zone.ts'
import { renameMember } from '../../members/changes.ts'
import { memberName } from '../../members/schema.ts'
import { listPersonAccounts, type OwnAccount, setTimeZone } from '../../members/store.ts'
import type { Session } from '../../sessions/session.ts'
import { type ListedSession, listSessions, removeSession, removeSessions, sessionOwner } from '../../sessions/store.ts'
import { slicePage } from '../lists.ts'
import { moveSession } from '../other-account.ts'
import {
  idParam,
  type PageContent,
  type PageHandler,
  type PageRequest,
  type Pages,
  Redirect,
  signedInMember,
} from '../page.ts'
import { postButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { sessionTable } from '../parts/people.ts'
import { table } from '../parts/table.ts'
import { timeZoneField, timeZoneRule } from '../parts/time-zones.ts'
import { formHandler, guardedForm, valuesIn } from '../record-forms.ts'
import { identitySection } from './oidc.ts'
import { type PasskeyServices, passkeySection } from './passkeys.ts'

const home = '/app/profile'

type Services = PasskeyServices & Parameters<typeof identitySection>[0]

const profileForm = form({ name: required(memberName), time_zone: change(timeZoneRule) })

export function addProfilePages(pages: Pages, services: Services): void {
  const { storage: db } = services
  const show = (state: FormState, request: PageRequest) => profilePage(state, request, services)
  pages.get(home, null, async (request) => {
    const { member, account } = request.session
    const time_zone = member?.person.timeZone ?? calendarOf(account.time_zones).timeZone
    return show(new FormState({ name: member?.name, time_zone }), request)
  })
  pages.get('/app/sessions', null, async () => new Redirect(home))

  const save: PageHandler = async ({ actor, session, fields }) => {
    const { id, person } = signedInMember(session)
    const { name, time_zone } = valuesIn(profileForm, { name: fields.name, time_zone: fields.time_zone })
    await db.write(async (tx) => {
      await renameMember(tx, actor, id, name)
      if (time_zone !== undefined) await setTimeZone(tx, person.id, time_zone)
    })
    return new Redirect(home, { code: 'profile-saved' })
  }
  pages.post(home, null, formHandler(show, save))

  // The script sends the zone of the browser once.
  pages.post(`${home}/time-zone`, null, async ({ session, fields }) => {
    const zone = parseTimeZone(readText(fields.time_zone))
    if (zone !== undefined) await setTimeZone(db, signedInMember(session).person.id, zone, true)
    return new Redirect(home)
  })

  pages.post('/app/switch', null, async ({ session, fields }) => {
    await moveSession(db, session, fields.account)
    return new Redirect('/app')
  })
  addSessionForms(pages, services)
}

function addSessionForms(pages: Pages, { storage: db }: PasskeyServices): void {
  pages.postUnlimited(`${home}/sessions/:id/end`, null, async (request) => {
    const { exchange, session } = request
    const id = idParam(request, 'session')
    if (!(await removeSession(db, sessionOwner(session), id))) throw notFound('session')
    if (id !== session.id) return new Redirect(home, { code: 'sessions-ended', count: 1 })
    return pages.signOut(exchange)
  })

  pages.postUnlimited(`${home}/sessions/end-all`, null, async ({ exchange, session }) => {
    await removeSessions(db, sessionOwner(session), null)
    return pages.signOut(exchange)
  })

  pages.postUnlimited(`${home}/sessions/end-others`, null, async ({ session }) => {
    const ended = await removeSessions(db, sessionOwner(session), session.id)
    return new Redirect(home, { code: 'sessions-ended', count: ended })
  })
}

async function profilePage(state: FormState, request: PageRequest, services: Services): Promise<PageContent> {
  const { storage: db } = services
  const { session, query } = request
  const [passkeys, identity, sessions, accounts] = await Promise.all([
    passkeySection(services, request),
    identitySection(services, session),
    listSessions(db, sessionOwner(session)),
    session.member?.person.hasOtherAccounts ? listPersonAccounts(db, session.member.person.id) : [],
  ])
  const body = html`${session.member && settingsSection(state)}${passkeys}${identity}${accountSection(accounts, session)}${sessionSection(sessions, session.id, query)}`
  return { title: 'Profile', section: 'profile', body }
}

function settingsSection(state: FormState): Html {
  const name = textField(state, {
    name: 'name',
    label: 'Name',
    help: 'Other members of this account see it, including in the history.',
    isRequired: true,
  })
  const zone = timeZoneField(state, {
    label: 'Time zone',
    help: 'For times in forms and on pages. Statistics are in the time zone of the account.',
    stored: state.field('time_zone').value || 'UTC',
  })
  return guardedForm(home, 'Save profile', state.withErrors(html`${name}${zone}`), null)
}

/** Renders the accounts of a person with several. */
function accountSection(accounts: readonly OwnAccount[], { account }: Session): Html | null {
  if (accounts.length === 0) return null
  const list = table({
    caption: 'Accounts',
    rows: accounts,
    columns: [
      { label: 'Account', kind: 'lead', cell: ({ name }: OwnAccount) => html`<bdi>${name}</bdi>` },
      {
        label: 'Actions',
        kind: 'menu',
        width: 'medium',
        cell: ({ id }) =>
          id === account.id
            ? html`<span class="muted">This account</span>`
            : postButton({ action: '/app/switch', label: 'Switch', fields: { account: String(id) } }),
      },
    ],
  })
  return html`<section id="accounts"><h2>Accounts</h2>${list}</section>`
}

function sessionSection(sessions: readonly ListedSession[], own: number, query: Fields): Html {
  const { rows, pages } = slicePage(sessions, home, query)
  const list = sessionTable(rows, own, ({ id }) =>
    postButton({ action: `${home}/sessions/${id}/end`, label: id === own ? 'Sign out' : 'End' }),
  )
  const others =
    sessions.length > 1 ? postButton({ action: `${home}/sessions/end-others`, label: 'End all other sessions' }) : null
  const all = postButton({ action: `${home}/sessions/end-all`, label: 'Sign out everywhere' })
  return html`<section id="sessions"><h2>Sessions</h2>
<p>Browsers in which you’re signed in.</p>${list}${pages}
<div class="actions">${others}${all}</div></section>`
}
