/** How pages show people: the roles to choose from, the ways to sign in, and sessions. */

import { roleDescriptions, roles } from '../../access/roles.ts'
import { type Html, html } from '../../http/html.ts'
import { capitalize } from '../../lib/format.ts'
import type { Member } from '../../members/schema.ts'
import type { ListedSession } from '../../sessions/store.ts'
import { type FormState, radioGroup } from './fields.ts'
import { timeAgo } from './format.ts'
import { table } from './table.ts'
import { timeField, zoneFields } from './time-zones.ts'

const roleChoices = roles.map((role) => ({
  value: role,
  label: html`<span><strong>${capitalize(role)}</strong> <span class="muted">${roleDescriptions[role]}</span></span>`,
}))

/** Renders the control `role`: each role with its explanation. */
export function roleField(state: FormState): Html {
  return radioGroup(state, { name: 'role', label: 'Role', options: roleChoices, isRequired: true })
}

/** Renders the control `access_ends_at`, a time in a zone. */
export function accessEndField(state: FormState, zone: string): Html {
  const help = 'Optional. At this time, the member is removed, with their sessions and API keys.'
  return html`${zoneFields(zone)}${timeField(state, { name: 'access_ends_at', label: 'End of access', help }, zone)}`
}

const methodNames = { oidc: 'Single sign-on', passkey: 'Passkey' } as const

/** Names a member's ways to sign in. Everyone can also use a link from the server's command line. */
export function signInText(methods: Member['sign_in']): string {
  return methods.length === 0 ? 'Sign-in link only' : methods.map((method) => methodNames[method]).join(', ')
}

/** Renders open sessions. `own` is the id of the viewer's session, and `control` renders the button that ends a session. */
export function sessionTable(
  sessions: readonly ListedSession[],
  own: number,
  control: (session: ListedSession) => Html | null,
): Html {
  const now = Date.now()
  return table({
    caption: 'Sessions',
    rows: sessions,
    columns: [
      {
        label: 'Browser',
        kind: 'lead',
        cell: ({ id, browser }: ListedSession) =>
          html`${browser}${id === own ? html` <span class="muted">(this browser)</span>` : null}`,
      },
      { label: 'Signed in', width: 'large', cell: ({ created_at }) => timeAgo(created_at, now) },
      { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
      { label: 'Ends', leaves: 2, cell: ({ expires_at }) => timeAgo(expires_at, now) },
      { label: 'Actions', kind: 'menu', width: 'small', cell: control },
    ],
  })
}
