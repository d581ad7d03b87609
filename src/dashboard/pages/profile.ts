/** The profile of the person who has signed in: their sessions. */

import { notFound } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { type ListedSession, listSessions, ownerOf, removeSession, removeSessions } from '../../sessions/store.ts'
import { clearSessionCookie } from '../../sessions/token.ts'
import type { Storage } from '../../storage/port.ts'
import { slicePage } from '../lists.ts'
import { idParam, type PageContent, type Pages, Redirect } from '../page.ts'
import { postButton } from '../parts/buttons.ts'
import { timeAgo } from '../parts/format.ts'
import { table } from '../parts/table.ts'

const home = '/app/profile'

interface Services {
  readonly storage: Storage
}

export function addProfilePages(pages: Pages, services: Services): void {
  const { storage: db } = services
  pages.get(home, null, async ({ session, query }) => {
    return profilePage(await listSessions(db, ownerOf(session)), session.id, query)
  })
  pages.get('/app/sessions', null, async () => new Redirect(home))
  addSessionForms(pages, services)
}

function addSessionForms(pages: Pages, { storage: db }: Services): void {
  pages.postUnlimited(`${home}/sessions/:id/end`, null, async (request) => {
    const { exchange, session } = request
    const id = idParam(request, 'session')
    if (!(await removeSession(db, ownerOf(session), id))) throw notFound('session')
    if (id !== session.id) return new Redirect(home, { code: 'session-ended' })
    clearSessionCookie(exchange, pages.isSecure(exchange))
    return new Redirect('/app/sign-in')
  })

  pages.postUnlimited(`${home}/sessions/end-all`, null, async ({ exchange, session }) => {
    await removeSessions(db, ownerOf(session), null)
    clearSessionCookie(exchange, pages.isSecure(exchange))
    return new Redirect('/app/sign-in')
  })

  pages.postUnlimited(`${home}/sessions/end-others`, null, async ({ session }) => {
    const ended = await removeSessions(db, ownerOf(session), session.id)
    return new Redirect(home, { code: 'sessions-ended', count: ended })
  })
}

function profilePage(sessions: readonly ListedSession[], own: number, query: Fields): PageContent {
  const { rows, pages } = slicePage(sessions, home, query)
  const others =
    sessions.length > 1 ? postButton({ action: `${home}/sessions/end-others`, label: 'End all other sessions' }) : null
  const all = postButton({ action: `${home}/sessions/end-all`, label: 'Sign out everywhere' })
  const body = html`<section><h2>Sessions</h2>
<p>Browsers in which you’re signed in.</p>${sessionTable(rows, own)}${pages}
<div class="actions">${others}${all}</div></section>`
  return { title: 'Profile', section: 'profile', body }
}

function sessionTable(rows: readonly ListedSession[], own: number): Html {
  const now = Date.now()
  return table({
    caption: 'Sessions',
    columns: [
      {
        label: 'Browser',
        kind: 'lead',
        cell: (each: ListedSession) =>
          html`${each.browser}${each.id === own ? html` <span class="muted">(this browser)</span>` : null}`,
      },
      { label: 'Signed in', width: 'large', cell: (each) => timeAgo(each.created_at, now) },
      { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
      { label: 'Ends', leaves: 2, cell: ({ expires_at }) => timeAgo(expires_at, now) },
      {
        label: 'Actions',
        kind: 'menu',
        width: 'small',
        cell: ({ id }) => postButton({ action: `${home}/sessions/${id}/end`, label: id === own ? 'Sign out' : 'End' }),
      },
    ],
    rows,
  })
}
