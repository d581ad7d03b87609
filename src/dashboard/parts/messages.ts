import { type Html, html, type Part } from '../../http/html.ts'
import { hiddenFields, linkButton, onceField, submitButton } from './buttons.ts'
import { icon } from './icons.ts'
import { table } from './table.ts'

/** One line about what has just happened. `action`: how to undo it, where that is possible; it follows the words. */
export function notice(kind: 'done' | 'warning', text: Part, action: Html | null = null): Html {
  const words = html`<p>${text}</p>`
  const line = action === null ? words : html`<div class="line">${words} ${action}</div>`
  return html`<div class="notice ${kind}" role="status">${icon(kind)}${line}</div>`
}

export interface Empty {
  readonly title: string
  /** What would be here, and why it is not. */
  readonly why: Part
  /** The one next step. */
  readonly action?: Html
}

/** Stands where there is nothing yet, and teaches. */
export function emptyState({ title, why, action }: Empty): Html {
  return html`<section class="empty"><h2>${title}</h2><p>${why}</p>${action ?? null}</section>`
}

export interface Confirmation {
  /** Where the form is sent. */
  readonly action: string
  /** What happens, with figures, a sentence each. */
  readonly consequences: readonly Part[]
  /** What it happens to, where that is more than one thing. */
  readonly things?: readonly Part[]
  /** Repeats what is done to what: "Delete go.acme.com". */
  readonly verb: Part
  /** The way back. */
  readonly cancel: string
  readonly fields?: Readonly<Record<string, string>>
}

/** The question before something is destroyed. Its page's title names the thing. */
export function confirmation({ action, consequences, things = [], verb, cancel, fields = {} }: Confirmation): Html {
  const sentences = consequences.map((each) => html`<p>${each}</p>`)
  const list =
    things.length === 0 ? null : html`<ul class="things">${things.map((each) => html`<li>${each}</li>`)}</ul>`
  return html`<form method="post" action="${action}" class="form">${onceField()}${hiddenFields(fields)}<div class="stack">${list}${sentences}</div>
<div class="actions">${submitButton({ label: verb, weight: 'danger' })}<a class="button plain" href="${cancel}" data-close>Cancel</a></div></form>`
}

/** The link to such a page, in a dialog where scripts run. */
export function confirmLink(label: Part, href: string): Html {
  return linkButton({ label, href, icon: 'remove', inDialog: true })
}

/** A field that two people have given different values, in words. */
export interface Difference {
  readonly label: string
  readonly yours: string
  readonly theirs: string
}

/**
 * Stands above a form whose record was changed by another meanwhile: what was typed is in the form, what is stored is here. It
 * has the focus, since the form may be far below the head of its page.
 */
export function conflictMessage(differences: readonly Difference[]): Html {
  const list =
    differences.length === 0
      ? html`<p>You both entered the same values.</p>`
      : table({
          caption: 'Your values and those that are stored now',
          columns: [
            { label: 'Field', kind: 'lead', cell: ({ label }: Difference) => label },
            { label: 'Yours', width: 'rest', cell: ({ yours }) => html`<bdi>${yours}</bdi>` },
            { label: 'Stored now', width: 'rest', cell: ({ theirs }) => html`<bdi>${theirs}</bdi>` },
          ],
          rows: differences,
        })
  return html`<section class="notice warning collision" role="alert" tabindex="-1" autofocus>${icon('warning')}<div class="stack">
<p>This has changed since you opened it. Your values are in the form; save again to keep them.</p>${list}</div></section>`
}
