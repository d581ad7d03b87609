/** Who is signed in to the account, and how to end that. */
import { notFound } from '../../errors.ts'
import { type Html, html } from '../../http/html.ts'
import { listSessions, removeSession, removeSessions } from '../../sessions/store.ts'
import type { Db } from '../../storage/port.ts'
import { idOf, Next, type Pages, type Shown } from '../pages.ts'
import { postButton } from '../parts/buttons.ts'
import { table } from '../parts/table.ts'
import { timeAgo } from '../parts/time.ts'
import { endSession } from '../session-cookie.ts'

const home = '/app/sessions'
type Listed = Awaited<ReturnType<typeof listSessions>>[number]

/** `/app/sessions`. */
export function sessionPages(pages: Pages, db: Db): void {
  pages.show(home, async ({ account, session }) => listPage(await listSessions(db, account), session.id))

  pages.act(`${home}/:id/end`, async (asked) => {
    const { exchange, account, session } = asked
    const id = idOf(asked, 'session')
    if (!(await removeSession(db, account, id))) throw notFound('session')
    if (id !== session.id) return new Next(home, { code: 'session-ended' })
    endSession(exchange, pages.isSecure(exchange))
    return new Next('/app/sign-in')
  })

  pages.act(`${home}/end-others`, async ({ account, session }) => {
    const ended = await removeSessions(db, account, session.id)
    return new Next(home, { code: 'sessions-ended', number: ended })
  })
}

function listPage(sessions: readonly Listed[], own: number): Shown {
  const now = Date.now()
  const list = table({
    caption: 'Sessions',
    columns: [
      {
        label: 'Browser',
        kind: 'lead',
        cell: ({ id, browser }: Listed) =>
          html`${browser}${id === own ? html` <span class="muted">(this one)</span>` : null}`,
      },
      { label: 'Signed in', cell: (each) => signedIn(each, now) },
      { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
      { label: 'Ends', cell: ({ expires_at }) => timeAgo(expires_at, now) },
      {
        label: 'End it',
        kind: 'menu',
        cell: ({ id }) => postButton({ action: `${home}/${id}/end`, label: id === own ? 'Sign out' : 'End' }),
      },
    ],
    rows: sessions,
  })
  const others = sessions.length > 1 ? postButton({ action: `${home}/end-others`, label: 'End all others' }) : null
  const body = html`<p>Browsers that are signed in to this account. A session ends after 30 days.</p>${list}`
  return { title: 'Sessions', place: 'sessions', body, ...(others && { action: others }) }
}

/** When, and with which key, since the session ends with it. */
function signedIn({ created_at, key_name }: Listed, now: number): Html {
  const withKey = key_name === null ? null : html` <span class="muted">with the key <bdi>${key_name}</bdi></span>`
  return html`${timeAgo(created_at, now)}${withKey}`
}
