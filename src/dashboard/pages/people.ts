/** The page of people: the members of the account and its open invitations. */

import { allows } from '../../access/actor.ts'
import { createListQuery } from '../../forms/list-query.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { capitalize } from '../../lib/format.ts'
import { isLastOwner } from '../../members/changes.ts'
import { type InvitationRow, listAllInvitations } from '../../members/invitations.ts'
import type { Member } from '../../members/schema.ts'
import { memberRecords, toMember } from '../../members/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { Storage } from '../../storage/port.ts'
import { filterBar, ListState, requestsOf } from '../lists.ts'
import type { PageContent, PageRequest, Pages } from '../page.ts'
import { linkButton, postButton } from '../parts/buttons.ts'
import { timeAgo } from '../parts/format.ts'
import { signInText } from '../parts/people.ts'
import { table } from '../parts/table.ts'
import { addInvitationForm } from './invitation.ts'
import { addMemberPages, keptOwner } from './member.ts'

const home = '/app/people'

const memberList = createListQuery(resources.members)
/** A search is worth its place from this number of members on. */
const searchedFrom = 10

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly dashboardUrl: (exchange: Exchange) => string
}

export function addPeoplePages(pages: Pages, services: Services): void {
  pages.get(home, 'members:read', (request) => peoplePage(request, services))
  addInvitationForm(pages, services)
  addMemberPages(pages, services)
}

async function peoplePage(request: PageRequest, { storage }: Services): Promise<PageContent> {
  const { account, actor, query } = request
  const byName: Fields = { sort_by: 'name', sort: 'asc', ...query }
  const list = new ListState(home, byName, memberList, requestsOf(resources.members))
  const [members, invitations] = await Promise.all([
    memberRecords.list(storage, account, list.request),
    listAllInvitations(storage, account),
  ])
  const isSearched = list.query.search !== null || members.total > searchedFrom
  const bar = isSearched ? filterBar(list, 'Search names and email addresses', []) : null
  const rows = members.rows.map(toMember)
  // If the account has another owner, none of these is the last.
  const owner = members.rows.find(({ role, has_oidc_role }) => role === 'owner' && has_oidc_role === 1)
  const kept = owner && (await isLastOwner(storage, account, owner)) ? owner.id : null
  const found =
    rows.length === 0
      ? html`<p>No member matches.</p>`
      : html`${memberTable(rows, kept, request)}${isSearched ? list.pagination(members) : null}`
  const body = html`${bar}<div id="results" class="results">${found}</div>${invitationSection(invitations, request)}`
  const action = allows(actor, 'members:write')
    ? linkButton({ label: 'Invite someone', href: `${home}/invite`, weight: 'primary', icon: 'plus' })
    : null
  return { title: 'People', section: 'people', body, ...(action && { action }) }
}

/** `kept` is the last owner, if groups set their role. */
function memberTable(members: readonly Member[], kept: number | null, { actor, session }: PageRequest): Html {
  const now = Date.now()
  const hasPages = allows(actor, 'keys:read') || allows(actor, 'members:write')
  return table({
    caption: 'Members',
    rows: members,
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        cell: ({ id, name, email }: Member) => {
          const named = html`<bdi>${name}</bdi>`
          const you = id === session.member?.id ? html` <span class="muted">(you)</span>` : null
          const lead = hasPages ? html`<a class="cover" href="${home}/${id}">${named}</a>` : named
          return html`${lead}${you}${email && html`<span class="target"><bdi>${email}</bdi></span>`}`
        },
      },
      {
        label: 'Role',
        cell: ({ id, role }) => html`${capitalize(role)}${id === kept ? html`<p class="help">${keptOwner}</p>` : null}`,
      },
      { label: 'Ways to sign in', cell: ({ sign_in }) => signInText(sign_in) },
      { label: 'Last seen', cell: ({ last_seen_at: at }) => (at ? timeAgo(at, now) : 'Never') },
      ...(members.some(({ access_ends_at }) => access_ends_at !== null)
        ? [{ label: 'Access ends', cell: ({ access_ends_at: at }: Member) => at && timeAgo(at, now) }]
        : []),
    ],
  })
}

function invitationSection(invitations: readonly InvitationRow[], { actor }: PageRequest): Html | null {
  if (invitations.length === 0) return null
  const now = Date.now()
  const canRevoke = allows(actor, 'members:write')
  const list = table({
    caption: 'Open invitations',
    rows: invitations,
    columns: [
      {
        label: 'For',
        kind: 'lead',
        cell: ({ name, email }: InvitationRow) =>
          html`<bdi>${name ?? email ?? 'Anyone with the link'}</bdi>${name && email && html`<span class="target"><bdi>${email}</bdi></span>`}`,
      },
      { label: 'Role', cell: ({ role }) => capitalize(role) },
      { label: 'Invited by', leaves: 3, cell: ({ inviter }) => inviter && html`<bdi>${inviter}</bdi>` },
      { label: 'Expires', cell: ({ expires_at }) => timeAgo(expires_at, now) },
      ...(invitations.some(({ access_ends_at }) => access_ends_at !== null)
        ? [{ label: 'Access ends', cell: ({ access_ends_at: at }: InvitationRow) => at && timeAgo(at, now) }]
        : []),
      {
        label: 'Actions',
        kind: 'menu',
        width: 'medium',
        cell: ({ id }) =>
          canRevoke ? postButton({ action: `${home}/invitations/${id}/revoke`, label: 'Revoke' }) : null,
      },
    ],
  })
  return html`<section id="invitations"><h2>Open invitations</h2>${list}</section>`
}
