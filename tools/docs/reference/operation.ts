import { icon } from '../../../src/frame/icons.ts'
import { Html, html, type Part } from '../../../src/http/html.ts'
import { type ApiRequest, exampleIn, languages } from './browser/examples.js'
import {
  type Content,
  type Example,
  fieldsOf,
  inline,
  markdown,
  type OpenApi,
  type OperationObject,
  type Parameter,
  type Response,
  rowsOf,
  type Schema,
  schemaOf,
  typeOf,
} from './schema.ts'

/** An operation with its position in the document. */
export interface DocumentedOperation extends OperationObject {
  readonly document: OpenApi
  readonly method: string
  readonly path: string
}

/** Renders an operation as a collapsible section, without its parts in `common`. */
export function operationSection(operation: DocumentedOperation, common: ReadonlySet<unknown>): Html {
  const { method, path, operationId, summary, description } = operation
  const parameters = operation.parameters.filter((each) => !common.has(each))
  const responses = Object.entries(operation.responses).filter(([, each]) => !common.has(each))
  const successes = responses.filter(([status]) => Number(status) < 400)
  const errors = responses.slice(successes.length)
  return html`
<details class="operation" id="${operationId}" data-words="${synonymsOf(summary)}">
<summary>${icon('chevron')}<h3>${methodBadge(method)} <span class="title">${summary}</span> <code class="path">${breakable(path)}</code></h3></summary>
<div class="columns">
<div>
${markdown(description)}
${parameters.length === 0 ? null : html`<h4>Parameters</h4>${rowsOf(parameters)}`}
${bodyOf(operation)}
<h4>Response</h4>${successes.map(([status, response]) => successOf(status, response, common))}
${errorsOf(operationId, errors)}
</div>
${tryForm(operation, parameters)}
</div>
</details>`
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`
}

/** Renders links to the problem pages of the codes in the examples of a failure response. */
export function codeLinks(response: Response): Part {
  const codes = new Set(Object.values(failureExamples(response)).map(({ value }) => value.code))
  return separated([...codes].map((code) => html`<a href="/problems/${code}"><code>${code}</code></a>`))
}

function failureExamples({ content }: Response): Readonly<Record<string, Example>> {
  return content?.['application/problem+json']?.examples ?? {}
}

function separated(parts: readonly Part[], separator = ', '): Part {
  return parts.map((part, index) => (index === 0 ? part : [separator, part]))
}

/** Lets paths wrap after a slash on narrow screens. */
function breakable(path: string): Html {
  return new Html(html`${path}`.text.replaceAll('/', '/<wbr>'))
}

function bodyOf({ document, requestBody }: DocumentedOperation): Part {
  const content = requestBody?.content['application/json']
  if (content === undefined) return null
  const schema = schemaOf(document, content.schema)
  const rows = fieldsOf(document, schema).filter((row) => !row.schema.readOnly)
  return html`<h4>Body</h4>${rowsOf(rows)}`
}

function successOf(
  status: string,
  { description, headers = {}, content = {} }: Response,
  common: ReadonlySet<unknown>,
): Part {
  const own = Object.keys(headers).filter((name) => !common.has(name))
  const named = own.length === 0 ? null : ['Headers: ', separated(own.map((name) => html`<code>${name}</code>`))]
  const { schema, example, examples = {} }: Partial<Content> = content['application/json'] ?? {}
  return html`<p><strong>${status}</strong> ${inline(description)} ${schema === undefined ? null : shapeOf(schema)} ${named}</p>
${example === undefined ? null : exampleOf(example)}
${Object.values(examples).map(({ summary, value }) => html`<p>${inline(summary)}</p>${exampleOf(value)}`)}`
}

/** Renders the shape of a response as links to its objects. */
function shapeOf({ $ref, anyOf = [], properties = {} }: Schema): Part {
  if ($ref !== undefined) return html`<span class="type">${typeOf({ $ref })}</span>`
  if (anyOf.length > 0) return separated(anyOf.map(shapeOf), ' or ')
  return Object.entries(properties).map(
    ([name, schema]) => html`<span class="type"><code>${name}</code>: ${typeOf(schema)}</span>`,
  )
}

function errorsOf(operationId: string, errors: readonly [status: string, response: Response][]): Part {
  const examples = errors.flatMap(([, response]) => Object.entries(failureExamples(response)))
  const refused = examples.find(([name]) => name.endsWith(`_${operationId}`))?.[1].value
  return html`<h4>Errors</h4>
<ul class="errors">${errors.map(
    ([status, response]) => html`<li><strong>${status}</strong> ${codeLinks(response)}</li>`,
  )}
<li><a href="#error-codes">Errors of every operation</a></li></ul>
${refused === undefined ? null : html`<details><summary>Example of <code>${refused.code}</code></summary>${exampleOf(refused)}</details>`}`
}

function exampleOf(value: unknown): Html {
  return html`<pre><code>${jsonText(value)}</code></pre>`
}

/** Renders the code of the request, and the form from which the page's script builds and sends it. */
function tryForm(operation: DocumentedOperation, parameters: readonly Parameter[]): Html {
  const { method, path, operationId, security, requestBody } = operation
  return html`<form class="try" data-method="${method.toUpperCase()}" data-path="${path}" data-key="${security.length > 0 ? 'needed' : ''}">
<h4>Request</h4>
${examplesOf(operation)}
<div class="needs-script">
<div class="inputs">${parameters.map((parameter) => inputOf(parameter, `${operationId}-${parameter.name}`))}</div>
${requestBody === undefined ? null : bodyInput(requestBody.content, `${operationId}-body`)}
<p class="actions"><button class="button primary send">Send</button></p>
<div class="response" role="status"></div>
</div>
</form>`
}

/** Renders a tab for each language. They work without scripts. */
function examplesOf(operation: DocumentedOperation): Html {
  const request = exampleRequest(operation)
  const tabs = languages.map(
    ([language, name], index) =>
      html`<label><input type="radio" name="language-${operation.operationId}" value="${language}"${index === 0 ? html` checked` : null}>${name}</label>`,
  )
  const examples = languages.map(
    ([language]) => html`<pre data-language="${language}"><code>${exampleIn(language, request)}</code></pre>`,
  )
  return html`<fieldset class="examples"><legend class="hidden-text">Example</legend>
<div class="tabs">${tabs}<button type="button" class="link-like needs-script copy">Copy</button></div>${examples}</fieldset>`
}

/** Returns a request with all required parameters, as the form is when the page opens. */
function exampleRequest({ method, path, parameters, security, requestBody }: DocumentedOperation): ApiRequest {
  const content = requestBody?.content['application/json']
  const required = parameters.filter((parameter) => parameter.required)
  const query = required.filter((parameter) => parameter.in === 'query').map((each) => [each.name, exampleValue(each)])
  const ofPath = (name: string) => required.find((parameter) => parameter.name === name)
  return {
    method: method.toUpperCase(),
    url: `https://links.example.com${path.replace(/{(\w+)}/g, (_, name) => exampleValue(ofPath(name)))}${
      query.length > 0 ? `?${new URLSearchParams(query)}` : ''
    }`,
    headers: {},
    needsKey: security.length > 0,
    ...(content && { type: 'application/json', text: JSON.stringify(content.example, null, 2) }),
  }
}

function exampleValue(parameter: Parameter | undefined): string {
  return String(parameter?.example ?? parameter?.schema.enum?.[0] ?? '')
}

function inputOf({ name, in: location, schema, required, example }: Parameter, id: string): Html {
  const attributes = html`id="${id}" name="${name}" data-in="${location}"`
  const control =
    schema.enum === undefined || location === 'path'
      ? html`<input ${attributes} value="${String(example ?? '')}" autocomplete="off" spellcheck="false"${required ? html` required` : null}>`
      : html`<select ${attributes}>${required ? null : html`<option></option>`}${schema.enum.map((each) => html`<option>${String(each)}</option>`)}</select>`
  return html`<p class="field"><label for="${id}">${name}</label>${control}</p>`
}

const sendable = [
  ['application/json', 'JSON'],
  ['application/x-www-form-urlencoded', 'Form'],
] as const

function bodyInput(content: Readonly<Record<string, Content>>, id: string): Html {
  const options = sendable.filter(([type]) => type in content)
  return html`<p class="field"><label for="${id}-type">Send as</label><select id="${id}-type" class="type">${options.map(
    ([type, name]) => html`<option value="${type}">${name}</option>`,
  )}</select></p>
<p class="field"><label for="${id}">Body</label><textarea id="${id}" class="body" rows="6" spellcheck="false">${JSON.stringify(content['application/json']?.example, null, 2)}</textarea></p>`
}

/** The length of a line on a phone, without indentation. Characters. */
const lineLength = 34

/** Formats JSON for people, with short values on one line. */
export function jsonText(value: unknown, indentation = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indentation}  `
  const parts = Array.isArray(value)
    ? value.map((each) => jsonText(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${jsonText(each, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const line = parts.length === 0 ? open + close : `${open} ${parts.join(', ')} ${close}`
  if (line.length <= lineLength && !line.includes('\n')) return line
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indentation}${close}`
}

/** Words that the filter finds, by the words in the titles of operations and guide sections. */
const synonyms: Readonly<Record<string, string>> = {
  store: 'create add new insert make shorten',
  update: 'edit modify change set rename',
  delete: 'remove erase destroy reset forget',
  list: 'find search browse all index',
  show: 'get read fetch view retrieve',
  check: 'status ping monitor',
  link: 'short url alias redirect destination',
  links: 'short urls aliases redirects pagination',
  lists: 'pagination paging cursor search sort',
  domain: 'host hostname dns',
  space: 'folder group tag category',
  statistics: 'stats analytics reports clicks visits visitors traffic',
  clicks: 'stats statistics analytics visits',
  qr: 'barcode image picture png svg',
  key: 'login sign in authentication token scopes permissions whoami me quota',
  authentication: 'login sign in token api key bearer password oauth scopes permissions',
  rate: 'quota throttling too many requests 429',
  errors: 'problems failures exceptions status codes validation',
  values: 'types integer boolean null empty optional nullable dates',
  updates: 'etag concurrency conflict optimistic locking version',
  retries: 'idempotency idempotent duplicate repeat timeout',
  browsers: 'cors javascript gzip',
  generators: 'sdk client openapi swagger',
}

/** Returns the synonyms of all words in the title. */
export function synonymsOf(title: string): string {
  return [...new Set(title.toLowerCase().match(/\w+/g))].flatMap((word) => synonyms[word] ?? []).join(' ')
}
