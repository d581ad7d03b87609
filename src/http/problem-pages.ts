import type { FastifyInstance } from 'fastify'
import { type ErrorCode, notFound } from '../errors.ts'
import { failures } from './failures.ts'

/** `GET /problems/{code}`: what a code means and what to do about it, for a person; `type` of every problem leads here. */
export function problemPages(app: FastifyInstance): void {
  app.get('/problems/:code', async (request, reply) => {
    const { code } = request.params as { code: string }
    if (!Object.hasOwn(failures, code)) throw notFound('problem')
    reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
    return reply.type('text/html; charset=utf-8').send(pageOf(code as ErrorCode))
  })
}

function pageOf(code: ErrorCode): string {
  const { status, title, explanation } = failures[code]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Waymark</title>
<style>
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 10vh auto; padding: 0 1rem; color: #1c2430 }
code { background: #eef1f5; padding: .1em .35em; border-radius: .25em }
@media (prefers-color-scheme: dark) { body { background: #14181f; color: #dde3ea } code { background: #252c37 } a { color: #8ab4f8 } }
</style>
</head>
<body>
<h1>${title}</h1>
<p>Status ${status}, code <code>${code}</code></p>
<p>${escaped(explanation)}</p>
<p><a href="/docs">All operations</a></p>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
