import { notFound } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listSessions, removeSession, removeSessions } from '../../sessions/store.ts'
import { clearSessionCookie } from '../cookies.ts'
import { slicePage } from '../lists.ts'
import { idParam, type PageContent, type Pages, Redirect, type Services } from '../pages.ts'
import { postButton } from '../parts/buttons.ts'
import { timeAgo } from '../parts/format.ts'
import { table } from '../parts/table.ts'

const home = '/app/sessions'
type Listed = Awaited<ReturnType<typeof listSessions>>[number]

export function addSessionPages(pages: Pages, { storage: db }: Services): void {
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
        cell: ({ id, browser }: Listed) =>
          html`${browser}${id === own ? html` <span class="muted">(this browser)</span>` : null}`,
      },
      { label: 'Signed in', width: 'large', cell: (each) => signedIn(each, now) },
      { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
      { label: 'Ends', leaves: 1, cell: ({ expires_at }) => timeAgo(expires_at, now) },
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
  const body = html`<p>Browsers signed in to this account. Sessions end after 30 days.</p>${list}${pages}`
  return { title: 'Sessions', place: 'sessions', action: html`<div class="actions">${others}${all}</div>`, body }
}

/** Renders the sign-in time and the key, because the session ends with its key. */
function signedIn({ created_at, key_name }: Listed, now: number): Html {
  const withKey = key_name === null ? null : html` <span class="muted">with key <bdi>${key_name}</bdi></span>`
  return html`<span>${timeAgo(created_at, now)}${withKey}</span>`
}
