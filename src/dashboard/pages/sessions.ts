/** Session pages: the list, and sign-in links for other people. */

import { notFound } from '../../errors.ts'
import { form, optional } from '../../forms/form.ts'
import { boundedText } from '../../forms/rules.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { insertLoginToken, listSessions, loginLifetimeMs, removeSession, removeSessions } from '../../sessions/store.ts'
import { clearSessionCookie, signInUrl } from '../../sessions/token.ts'
import type { Storage } from '../../storage/port.ts'
import { slicePage } from '../lists.ts'
import { idParam, type PageContent, type PageHandler, type Pages, Redirect } from '../page.ts'
import { copyable, linkButton, postButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { truncateMiddle } from '../parts/links.ts'
import { table } from '../parts/table.ts'
import { formHandler, newRecordForm, valuesIn } from '../record-forms.ts'

const home = '/app/sessions'
type Listed = Awaited<ReturnType<typeof listSessions>>[number]

interface Services {
  readonly storage: Storage
  readonly dashboardUrl: (exchange: Exchange) => string
}

export function addSessionPages(pages: Pages, services: Services): void {
  const { storage: db } = services
  pages.get(home, async ({ account, session, query }) => {
    return listPage(await listSessions(db, account), session.id, query)
  })

  pages.postUnlimited(`${home}/:id/end`, async (request) => {
    const { exchange, account, session } = request
    const id = idParam(request, 'session')
    if (!(await removeSession(db, account, id))) throw notFound('session')
    if (id !== session.id) return new Redirect(home, { code: 'session-ended' })
    clearSessionCookie(exchange, pages.isSecure(exchange))
    return new Redirect('/app/sign-in')
  })

  pages.postUnlimited(`${home}/end-all`, async ({ exchange, account }) => {
    await removeSessions(db, account, null)
    clearSessionCookie(exchange, pages.isSecure(exchange))
    return new Redirect('/app/sign-in')
  })

  pages.postUnlimited(`${home}/end-others`, async ({ account, session }) => {
    const ended = await removeSessions(db, account, session.id)
    return new Redirect(home, { code: 'sessions-ended', count: ended })
  })
  addSignInLinks(pages, services)
}

const nameRule = boundedText(255, 'The name of the person who gets the link.')
const linkForm = form({ name: optional(nameRule, null) })

function addSignInLinks(pages: Pages, { storage: db, dashboardUrl }: Services): void {
  pages.get(`${home}/new`, async () => newLinkPage(new FormState({})))

  const create: PageHandler = async ({ exchange, account, session, fields }) => {
    const { name } = valuesIn(linkForm, fields)
    const url = signInUrl(dashboardUrl(exchange), await insertLoginToken(db, account, { name, session: session.id }))
    // The secret is not stored, so a repeat cannot show it again.
    const repeatRedirect = new Redirect(home, { code: 'sign-in-link-created-before' })
    return { ...createdLinkPage(url, name), status: 201, repeatRedirect }
  }
  pages.post(home, formHandler(newLinkPage, create))
}

function newLinkPage(state: FormState): PageContent {
  const name = textField(state, {
    name: 'name',
    label: 'Name (optional)',
    help: 'The person who gets the link, such as Ana. Their session and the API keys that they create show this name.',
    hasFocus: true,
  })
  const access = html`<p>A sign-in link gives full access to this account: to all links, statistics, API keys and sessions. To take it away, end all sessions of this person, and revoke the API keys that they created or know.</p>`
  const body = newRecordForm(home, 'Create sign-in link', html`${access}${state.withErrors(name)}`)
  return { title: 'New sign-in link', section: 'sessions', body }
}

function createdLinkPage(url: string, name: string | null): PageContent {
  const person = name === null ? 'the person who gets it' : html`<bdi>${name}</bdi>`
  const localHint = /^https?:\/\/(?:[^/]*\.)?localhost[:/]/.test(url)
    ? html`<p class="attention">This link works only on this machine. For other machines, set <code>BASE_URL</code> to the public URL of the dashboard.</p>`
    : null
  const minutes = loginLifetimeMs / 60_000
  const body = html`<p>Copy this link now, because it’s shown only once. Send it only to ${person}: it gives full access to this account.</p>
${copyable(url, 'the sign-in link', 'Copy link')}${localHint}
<p class="muted">The link works once, within ${minutes} minutes, while you stay signed in.</p>
<div class="actions">${linkButton({ label: 'Done', href: home, weight: 'primary' })}</div>`
  const title = name === null ? 'Sign-in link' : `Sign-in link for ${name}`
  const heading = name === null ? title : html`Sign-in link for <bdi>${name}</bdi>`
  return { title, heading, section: 'sessions', body }
}

function listPage(sessions: readonly Listed[], own: number, query: Fields): PageContent {
  const { rows, pages } = slicePage(sessions, home, query)
  const now = Date.now()
  const list = table({
    caption: 'Sessions',
    columns: [
      {
        label: 'Browser',
        kind: 'lead',
        cell: (each: Listed) =>
          html`${nameAndBrowser(each)}${each.id === own ? html` <span class="muted">(this browser)</span>` : null}`,
      },
      { label: 'Signed in', width: 'large', cell: (each) => signedIn(each, now) },
      { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
      { label: 'Ends', leaves: 2, cell: ({ expires_at }) => timeAgo(expires_at, now) },
      {
        label: 'Actions',
        kind: 'menu',
        width: 'small',
        cell: ({ id }) => postButton({ action: `${home}/${id}/end`, label: id === own ? 'Sign out' : 'End' }),
      },
    ],
    rows,
  })
  const others =
    sessions.length > 1 ? postButton({ action: `${home}/end-others`, label: 'End all other sessions' }) : null
  const all = postButton({ action: `${home}/end-all`, label: 'Sign out everywhere' })
  const body = html`<p>Browsers signed in to this account. Sessions end after 30 days.</p>${list}${pages}
<div class="actions">${others}${all}</div>`
  const action = linkButton({ label: 'New sign-in link', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  return { title: 'Sessions', section: 'sessions', action, body }
}

const shownName = 40

/** Renders "Ana · Chrome on Linux". */
function nameAndBrowser({ name, browser }: Listed): Html {
  return name === null
    ? html`${browser}`
    : html`<bdi title="${name}">${truncateMiddle(name, shownName)}</bdi> · ${browser}`
}

/** Renders the sign-in time and the key, because the session ends with its key. */
function signedIn({ created_at, key_name }: Listed, now: number): Html {
  const withKey = key_name === null ? null : html` <span class="muted">with key <bdi>${key_name}</bdi></span>`
  return html`<span>${timeAgo(created_at, now)}${withKey}</span>`
}
