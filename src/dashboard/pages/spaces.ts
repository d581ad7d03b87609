import { colors } from '../../forms/rules.ts'
import { html } from '../../http/html.ts'
import { type Space, spaceLabels } from '../../spaces/schema.ts'
import type { Pages, Services } from '../pages.ts'
import { type FormState, textField } from '../parts/fields.ts'
import { colorField, linkCount, spaceLabel } from '../parts/links.ts'
import { differing } from '../record-forms.ts'
import { GroupPages } from './groups.ts'

export function addSpacePages(pages: Pages, services: Services): void {
  const { spaces } = services.actions
  new GroupPages<Space>(services, {
    what: 'space',
    words: {
      list: 'Spaces',
      add: 'New space',
      create: 'Create space',
      none: 'No spaces yet',
      why: 'A space groups links under a name and a color: a campaign, a team, a client.',
      created: 'Created',
      statistics: 'Clicks in this space',
    },
    nameOf: ({ name }) => name,
    heading: spaceLabel,
    columns: async () => [
      { label: 'Links', cell: ({ row, links }) => linkCount(`space_id=${row.id}`, links), isPlain: true },
    ],
    details: async () => null,
    deletion: async ({ name }, total, links) => [
      `Delete ${name}?`,
      `${total === 0 ? 'This space has no links.' : `Its ${links} will keep working without a space.`} You can’t undo this.`,
    ],
    remove: (account, id) => spaces.remove(account, id, {}, null),
    actions: spaces,
    initialValues: async () => ({ color: 1 }),
    newControls: spaceFields,
    editForm: async ({ name, color }) => ({
      name,
      controls: spaceFields,
      differences: (sent) =>
        differing([
          { label: spaceLabels.name, yours: sent.name, theirs: name },
          {
            label: spaceLabels.color,
            yours: sent.color && (colors[Number(sent.color) - 1] ?? ''),
            theirs: colors[color - 1] ?? '',
          },
        ]),
    }),
  }).addTo(pages)
}

function spaceFields(state: FormState) {
  const name = textField(state, { name: 'name', label: spaceLabels.name, hasFocus: state.field('name').value === '' })
  return html`${name}${colorField(state)}`
}
