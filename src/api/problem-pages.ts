import { type ErrorCode, notFound } from '../errors.ts'
import { navigationLink, navigationRail, readScheme, renderDocument, type Scheme, skipLink } from '../frame/document.ts'
import { failures } from '../http/failures.ts'
import { type Html, html } from '../http/html.ts'
import { addHeader, send, sendJson } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { violationCodes } from '../violations.ts'

/** Adds `GET /problems/{code}`, the `type` of every problem: a page, or JSON if `Accept` asks for JSON and not for HTML. */
export function problemPages(routes: Router): void {
  routes.add('GET', '/problems/:code', (exchange) => {
    const { code = '' } = exchange.params
    if (!isErrorCode(code)) return notFound('problem')
    addHeader(exchange, 'vary', 'Accept')
    if (asksForJson(exchange.headers.accept)) return sendJson(exchange, 200, JSON.stringify(explanationOf(code)))
    addHeader(exchange, 'content-security-policy', policy)
    addHeader(exchange, 'content-type', 'text/html; charset=utf-8')
    return send(exchange, 200, pageOf(code, readScheme(exchange)))
  })
}

const policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; img-src 'self'; style-src 'self'"

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(failures, text)
}

function asksForJson(accept = ''): boolean {
  return /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept)
}

function explanationOf(code: ErrorCode): object {
  return { code, ...failures[code], ...(code === 'validation_failed' ? { violations: violationCodes } : {}) }
}

function pageOf(code: ErrorCode, scheme: Scheme): string {
  const { status, title, explanation } = failures[code]
  const codes = Object.keys(failures).filter(isErrorCode)
  const body = html`${skipLink}
${navigationRail({
  label: 'Error codes',
  sections,
  more: html`<div class="contents"><p>Error codes</p>
<ul class="items">${codes.map((each) => html`<li><a href="/problems/${each}"${each === code ? html` aria-current="page"` : null}>${failures[each].title}</a></li>`)}</ul></div>`,
})}
<main class="sheet" id="main" tabindex="-1">
<header class="head"><h1>${title}</h1></header>
<div class="content">
<p class="muted">Status ${status} · <code>${code}</code></p>
<p>${explanation}</p>
${code === 'validation_failed' ? violationTable() : null}
</div>
</main>`
  return renderDocument({ title, scheme, head: stylesheet(), className: 'framed reference', body }).text
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

/** Returns the link to the styles of the API reference and of these pages. */
export function stylesheet(): Html {
  return html`<link rel="stylesheet" href="/docs/static/reference.css">`
}
