import { type ErrorCode, notFound, violationCodes } from '../errors.ts'
import { failures } from '../http/failures.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { addHeader, send, sendJson } from '../http/response.ts'
import type { Router } from '../http/router.ts'

/** Adds `GET /problems/{code}`, the `type` of every problem: a page, or JSON if `Accept` asks for JSON and not for HTML. */
export function problemPages(routes: Router): void {
  routes.add('GET', '/problems/:code', (exchange) => {
    const { code = '' } = exchange.params
    if (!isErrorCode(code)) return notFound('problem')
    addHeader(exchange, 'vary', 'Accept')
    if (asksForJson(exchange.headers.accept)) return sendJson(exchange, 200, JSON.stringify(explanationOf(code)))
    addHeader(exchange, 'content-security-policy', policy)
    addHeader(exchange, 'content-type', 'text/html; charset=utf-8')
    return send(exchange, 200, pageOf(code).text)
  })
}

const policy = "default-src 'none'; img-src 'self'; style-src 'self'; frame-ancestors 'none'"

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(failures, text)
}

function asksForJson(accept = ''): boolean {
  return /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept)
}

function explanationOf(code: ErrorCode): object {
  return { code, ...failures[code], ...(code === 'validation_failed' ? { violations: violationCodes } : {}) }
}

function pageOf(code: ErrorCode): Html {
  const { status, title, explanation } = failures[code]
  return html`${pageHead(`${title} · Waymark API`)}
<body>
<main class="problem">
<h1>${title}</h1>
<p class="status">Status ${status} · <code>${code}</code></p>
<p>${explanation}</p>
${code === 'validation_failed' ? violationTable() : null}
<p><a href="/docs">All operations</a></p>
</main>
</body>
</html>
`
}

function violationTable(): Html {
  const rows = Object.entries(violationCodes).map(
    ([code, meaning]) => html`<tr><th scope="row"><code>${code}</code></th><td>${meaning}</td></tr>`,
  )
  return html`<h2>Violation codes</h2><table>${rows}</table>`
}

/** The start of every page, up to its `<body>`. `more` goes at the end of the head. */
export function pageHead(title: string, more: Part = null): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/docs/static/icon.svg">
<link rel="stylesheet" href="/docs/static/base.css">
${more}
</head>`
}
