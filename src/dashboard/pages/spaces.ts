import { type Space, spaceLabels } from '../../spaces/schema.ts'
import { restorableNote } from '../notices.ts'
import type { Pages, Services } from '../pages.ts'
import { linkCount, spaceLabel } from '../parts/links.ts'
import { nameAndColor } from '../record-forms.ts'
import { GroupPages } from './groups.ts'

export function addSpacePages(pages: Pages, services: Services): void {
  const { spaces } = services.actions
  new GroupPages<Space>(services, {
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
    deletion: async ({ name }, total, links) => [
      `Delete ${name}?`,
      `${total === 0 ? 'This space has no links.' : `Its ${links} will keep working without a space.`} ${restorableNote}`,
    ],
    actions: spaces,
    ...nameAndColor(spaceLabels),
  }).addTo(pages)
}
