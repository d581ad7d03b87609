import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** One file of the interactive reference under `/docs`, with the version that its entity tag names. */
export interface ReferenceFile {
  readonly type: string
  readonly content: Buffer
  readonly version: string
}

const javascript = 'text/javascript; charset=utf-8'

/** What the page loads of Swagger UI, as @fastify/swagger-ui brings it along. */
const filesOfSwaggerUi: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': javascript,
  'favicon-32x32.png': 'image/png',
  'favicon-16x16.png': 'image/png',
}

/**
 * Swagger UI for `/openapi.json`, by file name; `index.html` is the page. The few files are read once and kept: a stream
 * for each request would let a client that does not read make us hold files and memory without end.
 */
export function referenceFiles(): ReadonlyMap<string, ReferenceFile> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static')
  const files = Object.entries(filesOfSwaggerUi).map(([name, type]) =>
    file(name, type, readFileSync(join(folder, name))),
  )
  return new Map([
    file('index.html', 'text/html; charset=utf-8', Buffer.from(page)),
    file('start.js', javascript, Buffer.from(start)),
    ...files,
  ])
}

function file(name: string, type: string, content: Buffer): [string, ReferenceFile] {
  return [name, { type, content, version: createHash('sha256').update(content).digest('base64url') }]
}

/** Nothing but this server: the page works without a network, and tells nobody that it was opened. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "script-src 'self'",
  "style-src 'self'",
].join('; ')

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Waymark API</title>
<link rel="icon" type="image/png" href="/docs/static/favicon-32x32.png" sizes="32x32">
<link rel="icon" type="image/png" href="/docs/static/favicon-16x16.png" sizes="16x16">
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/start.js"></script>
</body>
</html>
`

/** Without the bar that asks for the address of another document. */
const start = `SwaggerUIBundle({
  dom_id: '#swagger-ui',
  url: '/openapi.json',
  layout: 'BaseLayout',
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`
