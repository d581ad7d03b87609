/** The warnings of the API on pages, next to the values that they are about. */

import { domainToUnicode } from 'node:url'
import type { NeededScope } from '../../access/actor.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html } from '../../http/html.ts'
import { type Warning, warningMessages } from '../../warnings.ts'
import { controlFor, type Viewer } from './buttons.ts'
import { shortUrlText, truncateMiddle } from './links.ts'

/** Renders the warnings about a field. Returns null if there are none. */
export type WarningNotes = (field: string) => Html | null

/** Returns how to render warnings, for people with a scope with a link to the form that changes their values. */
export function warningNotes(
  warnings: readonly Warning[],
  viewer: Viewer,
  change?: { readonly form: string; readonly scope: NeededScope },
): WarningNotes {
  return (field) => {
    const own = warnings.filter((warning) => warning.field.split('.', 1)[0] === field)
    if (own.length === 0) return null
    const edit = change && controlFor(viewer, change.scope, html` <a href="${change.form}#field-${field}">Edit</a>`)
    return html`${own.map((warning) => html`<p class="caution">${icon('warning')}<span>${warningText(warning)}${edit ?? null}</span></p>`)}`
  }
}

const maxValue = 60
const formats: Readonly<Record<string, (value: string) => string>> = {
  host: domainToUnicode,
  last: domainToUnicode,
  shortUrl: shortUrlText,
}

/** Renders the sentence for pages. */
function warningText({ code, params }: Warning): Html {
  const parts = ([warningMessages[code]].flat().at(-1) ?? '').split(/\{(\w+)\}/)
  const value = (name: string) => truncateMiddle((formats[name] ?? String)(params[name] ?? ''), maxValue)
  return html`${parts.map((part, at) => (at % 2 === 0 ? part : html`<bdi>${value(part)}</bdi>`))}`
}
