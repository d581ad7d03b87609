/** What people can do with links: buttons, menus and the settings that they change. */
import { allows } from '../../access/actor.ts'
import { type IconName, icon } from '../../frame/icons.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount } from '../../lib/format.ts'
import { maxBulkLinks } from '../../links/link.ts'
import type { Link } from '../../links/schema.ts'
import { actionRow, controlFor, hiddenFields, linkButton, type MenuItem, submitButton, type Viewer } from './buttons.ts'

const importButton = linkButton({ label: 'Import', href: '/app/import' })
const newLinkButton = linkButton({ label: 'New link', href: '/app/links/new', weight: 'primary', icon: 'plus' })

/** Renders the buttons that create links. Returns null for viewers who can't. */
export function newLinkActions(viewer: Viewer): Html | null {
  return controlFor(viewer, 'links:write', actionRow([importButton, newLinkButton]))
}

/** The links that a chart compares, so that their lines can be told apart. */
export const maxCompared = 5

/** Settings that link pages and the menus of lists change. */
export const linkSettings = {
  enable: {
    label: 'Enable',
    icon: 'done',
    change: { disabled: 'false' },
    effect: 'Visitors will be redirected immediately, unless a link is scheduled or has expired.',
  },
  // What visitors see depends on the domain.
  disable: { label: 'Disable', icon: 'off', change: { disabled: 'true' }, effect: null },
  archive: {
    label: 'Archive',
    icon: 'archive',
    change: { archived: 'true' },
    effect: 'Lists omit archived links. They keep working.',
  },
  unarchive: {
    label: 'Unarchive',
    icon: 'unarchive',
    change: { archived: 'false' },
    effect: 'Lists show these links again.',
  },
} as const

/** Settings that the menu for selected links changes. A question starts with `verb`, or `label` without it. */
export const listSettings = {
  ...linkSettings,
  forward: {
    label: 'Forward query strings',
    verb: 'Forward query strings of',
    icon: 'open',
    change: { forward_query: 'true' },
    effect: 'Query strings of visitors, such as ?utm_source=mail, will be added to the destinations.',
  },
  unforward: {
    label: 'Don’t forward query strings',
    verb: 'Don’t forward query strings of',
    icon: 'off',
    change: { forward_query: 'false' },
    effect: 'Destinations will no longer get the query strings of visitors.',
  },
} as const

export type Setting = keyof typeof listSettings

export function isSetting(what: unknown): what is Setting {
  return typeof what === 'string' && Object.hasOwn(listSettings, what)
}

/** Returns the menu items that change the settings of a link. */
export function settingItems({ id, disabled, archived }: Pick<Link, 'id' | 'disabled' | 'archived'>): MenuItem[] {
  return ([disabled ? 'enable' : 'disable', archived ? 'unarchive' : 'archive'] as const).map((name) => {
    const { label, icon } = linkSettings[name]
    return { label, icon, href: `/app/links/${id}/${name}`, isPost: true }
  })
}

const moreActions: Readonly<Record<string, { readonly label: string; readonly icon: IconName }>> = {
  ...listSettings,
  limit: { label: 'Dates and limits…', icon: 'clock' },
  replace: { label: 'Replace in destinations…', icon: 'edit' },
}

/** Renders the controls for the selected links. `next` is the path of the list. More actions can be added here and in `listActions`. */
export function selectedActions(next: string, viewer: Viewer): Html {
  const what = (value: string, label: string, weight: 'plain' | 'danger' = 'plain') =>
    submitButton({ name: 'what', value, label, weight })
  const compare = what('compare', `Compare (up to ${maxCompared})`)
  if (!allows(viewer, 'links:write')) return html`${hiddenFields({ next })}${compare}`
  const more = Object.entries(moreActions).map(
    ([value, { label, icon: name }]) =>
      html`<li><button name="what" value="${value}">${icon(name)}${label}</button></li>`,
  )
  return html`${hiddenFields({ next })}${what('move', 'Move…')}${what('tag', 'Tags…')}${compare}
<button type="button" class="button plain" popovertarget="more-actions">${icon('menu')}More</button>
<div class="menu" id="more-actions" popover><ul class="items">${more}</ul></div>
${what('delete', 'Delete', 'danger')}`
}

/** Renders the box that selects all links on all pages, if there are several. */
export function matchingBox(total: number, shown: number, isExact: boolean): Html | null {
  if (total <= shown) return null
  if (!isExact || total > maxBulkLinks)
    return html`<span class="muted small">To select all, filter the list to ${formatCount(maxBulkLinks)} links.</span>`
  return html`<label><input type="checkbox" name="matching" value="1" data-select-matching="${total}"> All ${formatCount(total)} that match</label>`
}
