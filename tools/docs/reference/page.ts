import { navigationLink } from '../../../src/frame/document.ts'
import { icon } from '../../../src/frame/icons.ts'
import { type Html, html } from '../../../src/http/html.ts'
import { renderPage } from '../page.ts'
import { codeLinks, type DocumentedOperation, methodBadge, operationSection, synonymsOf } from './operation.ts'
import { fieldsOf, inlineReferences, markdown, type OpenApi, type Response, rowsOf, schemaOf } from './schema.ts'

/** Renders the API reference. `text` is the OpenAPI document in JSON. */
export function referencePage(text: string): string {
  const document = inlineReferences(JSON.parse(text))
  const { info, tags } = document
  const operations = operationsOf(document)
  const common = findCommon(operations)
  const topics = topicsOf(info.description)
  const ofTag = (name: string) => operations.filter((operation) => operation.tags.includes(name))
  return renderPage({
    title: 'API reference',
    label: 'API reference',
    sections,
    contents: html`
${navGroup('Guide', topics.map(navTopic))}
${tags.map(({ name }) => navGroup(name, ofTag(name).map(navOperation)))}
${navGroup('More', [html`<li><a href="#error-codes">Errors of every operation</a></li>`, html`<li><a href="/openapi.json">OpenAPI document</a></li>`])}
`,
    main: html`<header class="head"><h1>API reference</h1><p class="muted">Version ${info.version} · <a href="/openapi.json">OpenAPI document</a></p></header>
${controls}
<p id="no-match" role="status"></p>
<section id="guide"><h2>Guide</h2>${topics.map(topicSection)}</section>
<div id="operations">${tags.map(
      ({ name, description }) =>
        html`<section><h2>${name}</h2>${markdown(description)}${ofTag(name).map((operation) => operationSection(operation, common))}</section>`,
    )}</div>
${errorsSection(operations[0]?.responses ?? {}, common)}
${objectsSection(document, operations)}`,
    script: html`
<script type="module" src="/docs/static/reference.js"></script>`,
  })
}

const sections = [
  navigationLink('overview', 'Dashboard', '/app'),
  navigationLink('docs', 'Guide', '#guide'),
  navigationLink('operations', 'Operations', '#operations'),
  navigationLink('spaces', 'Objects', '#objects'),
]

const controls = html`<div class="controls needs-script">
<p class="field"><label for="filter">Filter</label><input id="filter" type="search" placeholder="create link, alias, rate_limited, …" autocomplete="off"></p>
<form class="field" id="authorization"><label for="key">API key</label>
<div class="key"><input id="key" type="password" placeholder="wm_…" autocomplete="off" spellcheck="false" aria-describedby="key-note"><button class="button" id="forget" type="button">Forget</button></div>
<p class="help" id="key-note">Stored until you close this tab.</p></form>
</div>`

function navGroup(name: string, items: readonly Html[]): Html {
  return html`<p>${name}</p><ul class="items">${items}</ul>`
}

function navTopic({ id, title }: Topic): Html {
  return html`<li><a href="#${id}">${title}</a></li>`
}

function navOperation({ method, operationId, summary }: DocumentedOperation): Html {
  return html`<li><a href="#${operationId}">${summary} ${methodBadge(method)}</a></li>`
}

/** A section of the guide. */
interface Topic {
  readonly id: string
  readonly title: string
  readonly text: string
}

/** Splits the guide at its headings. */
function topicsOf(guide: string): Topic[] {
  return guide.split(/^## /m).flatMap((part) => {
    const end = part.indexOf('\n')
    const title = part.slice(0, end)
    return part === '' ? [] : [{ id: title.toLowerCase().replaceAll(/\W+/g, '-'), title, text: part.slice(end) }]
  })
}

function topicSection({ id, title, text }: Topic): Html {
  return html`
<section class="topic" id="${id}" data-words="${synonymsOf(title)}"><h3>${title}</h3>${markdown(text.trim())}</section>`
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
  return html`<section id="error-codes"><h2>Errors of every operation</h2>
<p>Each code links to a page that says what to do. The response is always a <a href="#Problem">Problem</a>.</p>
<table>${rows}</table></section>`
}

/** Renders the objects in requests and responses, except for bodies, which appear with their operations. */
function objectsSection(document: OpenApi, operations: readonly DocumentedOperation[]): Html {
  const bodies = operations.flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}))
  const ofBodies = bodies.map(({ schema }) => schemaOf(document, schema))
  const objects = Object.entries(document.components.schemas).filter(([, schema]) => !ofBodies.includes(schema))
  return html`<section id="objects"><h2>Objects</h2>${objects.map(
    ([name, schema]) => html`
<details class="object" id="${name}"><summary>${icon('chevron')}<h3>${name}</h3></summary>
${markdown(schema.description ?? '')}${rowsOf(fieldsOf(document, schema), false)}</details>`,
  )}</section>`
}
