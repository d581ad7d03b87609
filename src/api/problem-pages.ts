import { type ErrorCode, notFound, violationCodes } from '../errors.ts'
import { addHeader, send, sendJson } from '../http/answer.ts'
import { failures } from '../http/failures.ts'
import type { Router } from '../http/router.ts'

/**
 * `GET /problems/{code}`, where `type` of every problem leads: what a code means and what to do about it, as a page for a
 * person; as JSON for those who ask for `application/json` and not for `text/html`.
 */
export function problemPages(router: Router): void {
  router.add(['GET'], '/problems/:code', (exchange) => {
    const { code = '' } = exchange.params
    if (!isErrorCode(code)) return notFound('problem')
    addHeader(exchange, 'vary', 'Accept')
    if (asksForJson(exchange.headers.accept)) return sendJson(exchange, 200, JSON.stringify(explanationOf(code)))
    addHeader(exchange, 'content-security-policy', policy)
    addHeader(exchange, 'content-type', 'text/html; charset=utf-8')
    return send(exchange, 200, pageOf(code))
  })
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(failures, text)
}

function asksForJson(accept = ''): boolean {
  return /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept)
}

function explanationOf(code: ErrorCode): object {
  return { code, ...failures[code], ...(code === 'validation_failed' ? { violations: violationCodes } : {}) }
}

function pageOf(code: ErrorCode): string {
  const { status, title, explanation } = failures[code]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Waymark API</title>
<style>
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 10vh auto; padding: 0 1rem; color: #1c2430; background: #fff }
h1 { line-height: 1.2; margin-bottom: 0 }
code { font-size: .9em; background: #eef1f5; padding: .1em .35em; border-radius: .25em }
table { border-collapse: collapse; font-size: 1rem }
td { border-top: 1px solid #d5dbe3; padding: .35rem 1rem .35rem 0; vertical-align: top }
a { color: #0b57d0 }
.status { color: #5a6675; margin-top: .25rem }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #dde3ea }
  code { background: #252c37 }
  td { border-color: #333c49 }
  a { color: #8ab4f8 }
  .status { color: #98a4b3 }
}
</style>
</head>
<body>
<h1>${title}</h1>
<p class="status">Status ${status} · <code>${code}</code></p>
<p>${escaped(explanation)}</p>
${code === 'validation_failed' ? violationTable() : ''}<p><a href="/docs">All operations</a></p>
</body>
</html>
`
}

function violationTable(): string {
  const rows = Object.entries(violationCodes).map(
    ([code, meaning]) => `<tr><td><code>${code}</code></td><td>${escaped(meaning)}</td></tr>`,
  )
  return `<h2>Codes of violations</h2>\n<table>\n${rows.join('\n')}\n</table>\n`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
