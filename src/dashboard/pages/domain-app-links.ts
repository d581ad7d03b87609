/** The files that let apps open the links of a domain: their fields, and whether phones get them. */
import { type Domain, domainLabels } from '../../domains/schema.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html } from '../../http/html.ts'
import { type AppLinkField, appLinkFields, appLinkPath } from '../../names/app-links.ts'
import type { FileResult, Files } from '../../reachability/checks.ts'
import type { DomainCheck } from '../../reachability/store.ts'
import { actionRow, controlFor, postButton, type Viewer } from '../parts/buttons.ts'
import { collapsibleSection, type FormState, textArea } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { table } from '../parts/table.ts'
import type { WarningNotes } from '../parts/warnings.ts'

const help: Readonly<Record<AppLinkField, string>> = {
  apple_app_site_association: 'The content of the file apple-app-site-association, from the developers of the iOS app.',
  asset_links: 'The content of the file assetlinks.json, from the developers of the Android app.',
}

/** Renders the collapsible fields for both files. */
export function appLinkFieldset(state: FormState): Html {
  const fields = appLinkFields.map((name) => ({ name, label: domainLabels[name], ...state.field(name) }))
  const set = fields.filter(({ value }) => value !== '').map(({ label }) => label)
  const isOpen = fields.some(({ isInvalid }) => isInvalid)
  const controls = fields.map(({ name, label }) => textArea(state, { name, label, help: help[name], isCode: true }))
  return collapsibleSection('App links', set.join(', '), isOpen, html`${controls}`)
}

/** Returns the domain's files by path, without unset ones. */
export function filesOf(domain: Domain): Files {
  return Object.fromEntries(
    appLinkFields.flatMap((field) => {
      const content = domain[field]
      return content === null ? [] : [[appLinkPath(field), content]]
    }),
  )
}

/** What a phone gets instead of the file, and the next step. */
const problems: Readonly<Record<Exclude<FileResult, 'served'>, string>> = {
  redirect: 'Redirected, but phones follow no redirects here. Serve this path without a redirect.',
  status: 'Not found. Check that your proxy forwards this path to the redirect server.',
  type: 'Not sent as application/json. Check that your proxy keeps the type.',
  content: 'Another file is served. Check that no proxy or cache serves its own file.',
  'no answer': 'No response over HTTPS on port 443.',
  'certificate error': 'The TLS certificate isn’t valid.',
}

/** Renders the URL of each file with the result of the last check; nothing for a domain without files. */
export function appLinkSection(
  domain: Domain,
  check: DomainCheck | undefined,
  viewer: Viewer,
  notes: WarningNotes,
): Html | null {
  const paths = Object.keys(filesOf(domain))
  if (paths.length === 0) return null
  // An earlier check has compared other files.
  const last = check !== undefined && check.checked_at >= domain.updated_at ? check : undefined
  const files = table({
    caption: 'Files of apps',
    rows: paths,
    columns: [
      { label: 'URL', cell: (path) => html`<code>https://${domain.name}/${path}</code>`, width: 'rest' },
      { label: 'State', cell: (path) => fileState(last?.files[path]), width: 'rest' },
    ],
  })
  const when = last === undefined ? null : html` Checked ${timeAgo(last.checked_at, Date.now())}.`
  const label = last === undefined ? 'Check app links' : 'Check app links again'
  const button = actionRow([postButton({ label, action: `/app/domains/${domain.id}/check` })])
  return html`<section id="app-links"><h2>App links</h2>
<p>Phones with your app open links on this domain in the app, if they get these files.${when}</p>${appLinkFields.map(notes)}${files}${controlFor(viewer, 'domains:write', button)}</section>`
}

function fileState(result: FileResult | undefined): Html {
  if (result === undefined) return html`<span class="muted">Not checked</span>`
  if (result === 'served') return html`<span class="state reachable">${icon('done')}Served</span>`
  return html`<span class="state expired">${icon('warning')}Not served</span><p class="help">${problems[result]}</p>`
}
