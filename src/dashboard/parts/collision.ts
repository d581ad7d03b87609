import { type Html, html } from '../../http/html.ts'
import { icon } from './icons.ts'
import { table } from './table.ts'

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
export function collision(differences: readonly Difference[]): Html {
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
