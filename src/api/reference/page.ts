import { readFileSync } from 'node:fs'
import { type Html, html, type Part } from '../../http/html.ts'
import { type StaticContent, staticContent } from '../../http/static-content.ts'
import { pageHead } from '../problem-pages.ts'
import { markdown } from './markdown.ts'
import { codeLinks, type DocumentedOperation, methodBadge, operationSection } from './operation.ts'
import { fieldsOf, inlineReferences, type OpenApi, type Response, rowsOf, schemaOf } from './schema.ts'

function referencePage(document: OpenApi): Html {
  const { info, tags } = document
  const operations = operationsOf(document)
  const common = findCommon(operations)
  const ofTag = (name: string) => operations.filter((operation) => operation.tags.includes(name))
  return html`${pageHead(info.title, assets)}
<body class="reference">
<header>
<h1>${info.title} <small>${info.version}</small></h1>
${controls}
<nav aria-label="Contents">
${tags.map(({ name }) => navGroup(name, ofTag(name)))}
<p>More</p>
<ul><li><a href="#guide">Guide</a></li><li><a href="#errors">Errors</a></li><li><a href="#objects">Objects</a></li><li><a href="/openapi.json">OpenAPI document</a></li></ul>
</nav>
</header>
<main>
<p class="lead">${info.summary} <span class="shortcuts"><a href="#guide">Guide</a> · <a href="#errors">Errors</a> · <a href="#objects">Objects</a> · <a href="/openapi.json">OpenAPI document</a></span></p>
<p id="no-match" role="status"></p>
${tags.map(
  ({ name, description }) =>
    html`<section class="tag"><h2>${name}</h2>${markdown(description)}${ofTag(name).map((operation) => operationSection(operation, common))}</section>`,
)}
<section id="guide"><h2>Guide</h2>${markdown(info.description)}</section>
${errorsSection(operations[0]?.responses ?? {}, common)}
${objectsSection(document, operations)}
</main>
</body>
</html>
`
}

const assets = html`<link rel="stylesheet" href="/docs/static/reference.css">
<script type="module" src="/docs/static/reference.js"></script>`

const controls = html`<p><label for="filter">Filter</label><input id="filter" type="search" placeholder="domains, DELETE, …" autocomplete="off"></p>
<form id="authorization"><label for="key">API key</label>
<p class="key"><input id="key" type="password" placeholder="wm_…" autocomplete="off" spellcheck="false" aria-describedby="key-note"><button id="forget" type="button">Forget</button></p>
<p id="key-note">Kept until you close this tab.</p></form>`

function navGroup(name: string, operations: readonly DocumentedOperation[]): Part {
  const items = operations.map(
    ({ method, operationId, summary }) =>
      html`<li><a href="#${operationId}">${methodBadge(method)} ${summary}</a></li>`,
  )
  return html`<p>${name}</p><ul>${items}</ul>`
}

function operationsOf(document: OpenApi): DocumentedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, document, method, path })),
  )
}

/** Returns the parameters, responses and header names of all operations with a key, which the page shows once. */
function findCommon(operations: readonly DocumentedOperation[]): ReadonlySet<unknown> {
  return operations
    .filter(({ security }) => security.length > 0)
    .map(({ parameters, responses }) => {
      const all = Object.values(responses)
      // The first response is the success.
      return new Set<unknown>([...parameters, ...all, ...Object.keys(all[0]?.headers ?? {})])
    })
    .reduce((common, parts) => common.intersection(parts))
}

function errorsSection(responses: Readonly<Record<string, Response>>, common: ReadonlySet<unknown>): Html {
  const rows = Object.entries(responses)
    .filter(([, response]) => common.has(response))
    .map(([status, response]) => html`<tr><th scope="row">${status}</th><td>${codeLinks(response)}</td></tr>`)
  return html`<section id="errors"><h2>Errors of every operation</h2>
<p>Each code leads to a page that says what to do. The answer is always a <a href="#Problem">Problem</a>.</p>
<table>${rows}</table></section>`
}

/** Renders the objects in requests and responses, except for bodies, which appear with their operations. */
function objectsSection(document: OpenApi, operations: readonly DocumentedOperation[]): Html {
  const bodies = operations.flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}))
  const ofBodies = bodies.map(({ schema }) => schemaOf(document, schema))
  const objects = Object.entries(document.components.schemas).filter(([, schema]) => !ofBodies.includes(schema))
  return html`<section id="objects"><h2>Objects</h2>${objects.map(
    ([name, schema]) => html`
<details class="object" id="${name}"><summary><h3>${name}</h3></summary>
${markdown(schema.description ?? '')}${rowsOf(fieldsOf(document, schema))}</details>`,
  )}</section>`
}

const loaded: Readonly<Record<string, string>> = {
  'base.css': 'text/css; charset=utf-8',
  'reference.css': 'text/css; charset=utf-8',
  'reference.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml; charset=utf-8',
}

/** Returns the files of the reference by their path after `/docs/`, which is empty for the page. `document` is JSON. */
export async function referenceFiles(document: string): Promise<ReadonlyMap<string, StaticContent>> {
  const page = referencePage(inlineReferences(JSON.parse(document)))
  const files = new Map([['', await staticContent('text/html; charset=utf-8', page.text)]])
  for (const [name, type] of Object.entries(loaded)) {
    const text = readFileSync(
      new URL(name === 'icon.svg' ? '../../frame/icon.svg' : `./browser/${name}`, import.meta.url),
      'utf8',
    )
    files.set(`static/${name}`, await staticContent(type, text))
  }
  return files
}
