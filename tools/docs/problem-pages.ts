import type { ErrorCode } from '../../src/errors.ts'
import { navigationLink } from '../../src/frame/document.ts'
import { failures } from '../../src/http/failures.ts'
import { type Html, html } from '../../src/http/html.ts'
import { renderPage } from './page.ts'
import { explanations, violationCodes } from './problem-texts.ts'

const codes = Object.keys(failures) as ErrorCode[]

/** Renders the page of each error code, the `type` of its problems. Returns the pages by code. */
export function problemPages(): [code: ErrorCode, page: string][] {
  return codes.map((code) => [code, renderProblem(code)])
}

/** Returns the JSON about each error code, by code. */
export function problemFacts(): [code: ErrorCode, json: string][] {
  return codes.map((code) => {
    const facts = { code, ...failures[code], explanation: explanations[code] }
    return [code, JSON.stringify(code === 'validation_failed' ? { ...facts, violations: violationCodes } : facts)]
  })
}

function renderProblem(code: ErrorCode): string {
  const { status, title } = failures[code]
  const items = codes.map(
    (each) =>
      html`<li><a href="/problems/${each}"${each === code ? html` aria-current="page"` : null}>${failures[each].title}</a></li>`,
  )
  return renderPage({
    title,
    label: 'Error codes',
    sections,
    contents: html`<p>Error codes</p>
<ul class="items">${items}</ul>`,
    main: html`<header class="head"><h1>${title}</h1></header>
<div class="content">
<p class="muted">Status ${status} · <code>${code}</code></p>
<p>${explanations[code]}</p>
${code === 'validation_failed' ? violationTable() : null}
</div>`,
  })
}

const sections = [
  navigationLink('overview', 'Dashboard', '/app'),
  navigationLink('docs', 'Guide', '/docs#guide'),
  navigationLink('operations', 'Operations', '/docs#operations'),
  navigationLink('warning', 'Errors', '/docs#errors', true),
]

function violationTable(): Html {
  const rows = Object.entries(violationCodes).map(
    ([code, meaning]) => html`<tr><th scope="row"><code>${code}</code></th><td>${meaning}</td></tr>`,
  )
  return html`<section><h2>Violation codes</h2><table>${rows}</table></section>`
}
