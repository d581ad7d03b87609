import { recentDays } from '../../accounts/calendar.ts'
import { countRecentClicks } from '../../analytics/recent-clicks.ts'
import type { ResourceHandlers } from '../../api/handlers.ts'
import { quantity } from '../../lib/format.ts'
import { listSpacesQuery, type Space, spaceLabels } from '../../spaces/schema.ts'
import type { Storage } from '../../storage/port.ts'
import type { AddGroupPages } from '../group.ts'
import { linkCount, spaceLabel } from '../parts/links.ts'
import { nameAndColor } from '../record-forms.ts'

interface Services {
  readonly storage: Storage
  readonly actions: { readonly spaces: ResourceHandlers<Space> }
}

export function addSpacePages(addGroupPages: AddGroupPages, { storage, actions }: Services): void {
  addGroupPages<Space>({
    what: 'space',
    words: {
      add: 'New space',
      create: 'Create space',
      why: 'A space groups links under a name and a color: a campaign, a team, a client.',
      created: 'Created',
      statistics: 'Clicks in this space',
    },
    nameOf: ({ name }) => name,
    heading: spaceLabel,
    columns: async () => [
      { label: 'Links', cell: ({ row, links }) => linkCount(`space_id=${row.id}`, links), isPlain: true },
    ],
    deletion: async ({ id, name }, total, links, account) => [
      `Delete ${name}?`,
      total === 0 ? 'This space has no links.' : `Its ${links} will keep working without a space.`,
      `It had ${quantity((await countRecentClicks(storage, account, 'spaces', [id])).get(id) ?? 0, 'click')} in the last ${recentDays} days.`,
    ],
    actions: actions.spaces,
    listQuery: listSpacesQuery,
    ...nameAndColor(spaceLabels),
  })
}
