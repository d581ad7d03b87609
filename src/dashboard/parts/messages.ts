import { allows } from '../../access/actor.ts'
import { lowestRoleWith } from '../../access/roles.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import type { Section } from '../frame.ts'
import { controlFor, hiddenFields, linkButton, onceField, submitButton, type Viewer } from './buttons.ts'
import { table } from './table.ts'

/** Renders one line about a completed change, with an optional action after the text. */
export function notice(kind: 'done' | 'warning', text: Part, action: Html | null): Html {
  const words = html`<p>${text}</p>`
  const line = action === null ? words : html`<div class="line">${words} <div class="offers">${action}</div></div>`
  return html`<div class="notice ${kind}" role="status">${icon(kind)}${line}</div>`
}

type Empty = { readonly title: string; readonly why: Part; readonly action?: Html | null }

/** Explains the purpose of a page and why it is empty, with the next step. */
export function emptyState({ title, why, action }: Empty): Html {
  return html`<section class="empty"><h2>${title}</h2><p>${why}</p>${action ?? null}</section>`
}

/** Explains domains in an account without any. */
export function addDomainFirst(viewer: Viewer, title = 'Add a domain first', hint = ''): Html {
  const action = linkButton({ label: 'Add domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' })
  const scope = 'domains:write'
  const who = allows(viewer, scope) ? hint : ` Adding one needs the role ${lowestRoleWith(scope)}.`
  const why = `Every short link starts with a domain you own, such as go.example.com.${who}`
  return emptyState({ title, why, action: controlFor(viewer, scope, action) })
}

export interface Confirmation {
  /** The question, which names the thing. */
  readonly title: string
  readonly section: Section
  readonly action: string
  /** The consequences with figures, one sentence each. */
  readonly consequences: readonly Part[]
  /** The affected records and remarks, before the consequences. */
  readonly notes?: Html | null
  /** The action and its object: "Delete go.acme.com". */
  readonly verb: string
  readonly cancel: string
  readonly fields?: Readonly<Record<string, string>>
  /** Controls after the consequences. */
  readonly controls?: Html | null
  readonly weight?: 'danger' | 'primary'
  /** Other buttons, after those of the question. */
  readonly more?: Html | null
}

/** Returns a page that asks for confirmation, usually of a destructive action. */
export function confirmation({ title, section, ...question }: Confirmation) {
  const {
    action,
    consequences,
    verb,
    cancel,
    fields = {},
    notes = null,
    controls = null,
    weight = 'danger',
    more = null,
  } = question
  const sentences = consequences.map((each) => html`<p>${each}</p>`)
  const body = html`<form method="post" action="${action}" class="form" novalidate>${onceField()}${hiddenFields(fields)}<div class="stack">${notes}${sentences}</div>${controls}
<div class="actions">${submitButton({ label: verb, weight })}<a class="button plain" href="${cancel}" data-close>Cancel</a>${more}</div></form>`
  return { title, section, body }
}

/** Renders a link to a confirmation page, which scripts open in a dialog. */
export function confirmLink(label: string, href: string): Html {
  return linkButton({ label, href, icon: 'remove', inDialog: true })
}

export interface Difference {
  readonly label: string
  readonly yours: Part
  readonly theirs: Part
}

/** Renders your values and the stored ones after two people edited the same record. It gets the focus. */
export function conflictMessage(differences: readonly Difference[]): Html {
  const list =
    differences.length === 0
      ? html`<p>You both entered the same values.</p>`
      : table({
          caption: 'Your values and the current values',
          columns: [
            { label: 'Setting', kind: 'lead', cell: ({ label }: Difference) => label },
            { label: 'Your value', width: 'rest', cell: ({ yours }) => html`<bdi>${yours}</bdi>` },
            { label: 'Current value', width: 'rest', cell: ({ theirs }) => html`<bdi>${theirs}</bdi>` },
          ],
          rows: differences,
        })
  return html`<section class="notice warning collision" role="alert" tabindex="-1" autofocus>${icon('warning')}<div class="stack">
<p>This was changed while you were editing. The form still has your values. Save again to overwrite the current values.</p>${list}</div></section>`
}
