/** The frame of every page of the documentation. */
import { navigationRail, renderDocument, skipLink } from '../../src/frame/document.ts'
import { html, type Part } from '../../src/http/html.ts'

interface Page {
  readonly title: string
  /** The navigation column's name, and its parts. */
  readonly label: string
  readonly sections: Part
  readonly contents: Part
  readonly main: Part
  readonly script?: Part
}

/** Renders a page in the color scheme of the browser. The server sets the color scheme of the dashboard. */
export function renderPage({ title, label, sections, contents, main, script = null }: Page): string {
  const body = html`${skipLink}
${navigationRail({ label, sections, more: html`<div class="contents">${contents}</div>` })}
<main class="sheet" id="main" tabindex="-1">
${main}
</main>`
  const head = html`<link rel="stylesheet" href="/docs/static/reference.css">${script}`
  return renderDocument({ title, scheme: 'system', head, className: 'framed reference', body }).text
}
