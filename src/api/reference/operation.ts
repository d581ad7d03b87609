import { Html, html, type Part } from '../../http/html.ts'
import { inline, markdown } from './markdown.ts'
import {
  type Content,
  type Example,
  fieldsOf,
  type OpenApi,
  type OperationObject,
  type Parameter,
  type Reference,
  type Response,
  resolved,
  rowsOf,
  type Schema,
  typeOf,
} from './schema.ts'

/** An operation with its place in the document, and the parts that the page shows once for all operations. */
export interface DocumentedOperation {
  readonly document: OpenApi
  readonly method: string
  readonly path: string
  readonly operation: OperationObject
  readonly common: Common
}

/** Parts of every operation with a key: references to parameters and responses, and names of headers. */
export interface Common {
  readonly references: ReadonlySet<string>
  readonly headers: ReadonlySet<string>
}

/** Renders an operation as a collapsible section. */
export function operationSection(shown: DocumentedOperation): Html {
  const { method, path, operation } = shown
  return html`
<details class="operation" id="${operation.operationId}">
<summary><h3>${methodBadge(method)} <code class="path">${breakable(path)}</code> <span class="title">${operation.summary}</span></h3></summary>
<div class="columns">
<div>
${markdown(operation.description)}
${parametersOf(shown)}
${bodyOf(shown)}
${successesOf(shown)}
${errorsOf(shown)}
</div>
${tryForm(shown)}
</div>
</details>`
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`
}

/** Renders a link to the problem page of each code. */
export function codeLinks(codes: readonly string[]): Part {
  return codes.map((code, index) => [
    index === 0 ? '' : ', ',
    html`<a href="/problems/${code}"><code>${code}</code></a>`,
  ])
}

/** Returns the codes in the examples of a failure response. */
export function codesOf(document: OpenApi, response: Response): string[] {
  return [...new Set(examplesOf(document, response).map(({ value }) => value.code))]
}

function examplesOf(document: OpenApi, { content }: Response): Example[] {
  const references = Object.values(content?.['application/problem+json']?.examples ?? {})
  return references.map((reference) => resolved<Example>(document, reference))
}

/** Lets paths wrap after a slash on narrow screens. */
function breakable(path: string): Html {
  return new Html(html`${path}`.text.replaceAll('/', '/<wbr>'))
}

function ownParameters({ document, operation, common }: DocumentedOperation): Parameter[] {
  return operation.parameters
    .filter((parameter) => !isCommon(parameter, common))
    .map((parameter) => resolved<Parameter>(document, parameter))
}

function isCommon(value: object, { references }: Common): boolean {
  return '$ref' in value && references.has(String(value.$ref))
}

function parametersOf(shown: DocumentedOperation): Part {
  const parameters = ownParameters(shown)
  return parameters.length === 0 ? null : html`<h4>Parameters</h4>${rowsOf(parameters)}`
}

function bodyOf({ document, operation }: DocumentedOperation): Part {
  const content = contentOf(operation)
  if (content === undefined) return null
  const schema = resolved<Schema>(document, content.schema as Reference)
  const rows = fieldsOf(document, schema)
    .filter((row) => !row.schema.readOnly)
    .map((row) => ({ ...row, required: schema.required?.includes(row.name) ?? false }))
  return html`<h4>Body</h4>${markdown(schema.description ?? '')}${rowsOf(rows)}`
}

function contentOf({ requestBody }: OperationObject): Content | undefined {
  return requestBody?.content['application/json']
}

function responsesOf({ document, operation, common }: DocumentedOperation): [status: string, response: Response][] {
  return Object.entries(operation.responses)
    .filter(([, response]) => !isCommon(response, common))
    .map(([status, response]) => [status, resolved<Response>(document, response)])
}

function successesOf(shown: DocumentedOperation): Part {
  const successes = responsesOf(shown).filter(([status]) => Number(status) < 400)
  return html`<h4>Answer</h4>${successes.map(([status, response]) => successOf(shown, status, response))}`
}

function successOf(
  { document, common }: DocumentedOperation,
  status: string,
  { description, headers = {}, content = {} }: Response,
): Part {
  const own = Object.keys(headers).filter((name) => !common.headers.has(name))
  const named = own.map((name, index) => [index === 0 ? 'Headers: ' : ', ', html`<code>${name}</code>`])
  const json = content['application/json']
  return html`<p><strong>${status}</strong> ${inline(description)} ${json === undefined ? null : shapeOf(json.schema)} ${named}</p>
${json?.example === undefined ? null : example(json.example)}
${Object.values(json?.examples ?? {}).map((each) => namedExample(resolved<Example>(document, each)))}`
}

function namedExample({ summary, value }: Example): Html {
  return html`<p>${inline(summary)}</p>${example(value)}`
}

/** Renders the shape of a response as links to its objects. */
function shapeOf({ $ref, anyOf = [], properties = {} }: Schema): Part {
  if ($ref !== undefined) return html`<span class="type">${typeOf({ $ref })}</span>`
  if (anyOf.length > 0) return anyOf.map((each, index) => [index === 0 ? '' : ' or ', shapeOf(each)])
  return Object.entries(properties).map(
    ([name, schema]) => html`<span class="type"><code>${name}</code>: ${typeOf(schema)}</span>`,
  )
}

function errorsOf(shown: DocumentedOperation): Part {
  const errors = responsesOf(shown).filter(([status]) => Number(status) >= 400)
  const refusal = errors
    .flatMap(([, response]) => Object.entries(response.content?.['application/problem+json']?.examples ?? {}))
    .find(([name]) => name.endsWith(`_${shown.operation.operationId}`))?.[1]
  return html`<h4>Errors</h4>
<ul class="errors">${errors.map(
    ([status, response]) => html`<li><strong>${status}</strong> ${codeLinks(codesOf(shown.document, response))}</li>`,
  )}
<li>and <a href="#errors">those of every operation</a></li></ul>
${refusal === undefined ? null : refusalOf(shown, refusal)}`
}

function refusalOf({ document }: DocumentedOperation, reference: Example | Reference): Html {
  const { value } = resolved<Example>(document, reference)
  return html`<details><summary>Example of <code>${value.code}</code></summary>${example(value)}</details>`
}

function example(value: unknown): Html {
  return html`<pre><code>${jsonText(value)}</code></pre>`
}

/** Renders the form that the page's script sends, without empty fields. */
function tryForm(shown: DocumentedOperation): Html {
  const { method, path, operation } = shown
  const inputs = ownParameters(shown).map((parameter) =>
    inputOf(parameter, `${operation.operationId}-${parameter.name}`),
  )
  return html`<form class="try" data-method="${method.toUpperCase()}" data-path="${path}" data-key="${operation.security.length > 0 ? 'needed' : ''}">
<h4>Try it</h4>
${inputs}
${bodyInput(operation)}
<pre class="curl" role="group" aria-label="The request as a curl command"><code></code></pre>
<p class="buttons"><button class="send">Send</button> <button type="button" class="copy">Copy curl</button></p>
<div class="answer" role="status"></div>
</form>`
}

function inputOf({ name, in: place, schema, required, example: value }: Parameter, id: string): Html {
  const attributes = html`id="${id}" name="${name}" data-in="${place}"`
  const control =
    schema.enum === undefined || place === 'path'
      ? html`<input ${attributes} value="${String(value ?? '')}" autocomplete="off" spellcheck="false"${required ? html` required` : null}>`
      : html`<select ${attributes}><option></option>${schema.enum.map((each) => html`<option>${String(each)}</option>`)}</select>`
  return html`<p><label for="${id}">${name}</label>${control}</p>`
}

function bodyInput(operation: OperationObject): Part {
  const content = contentOf(operation)
  if (content === undefined) return null
  const id = `${operation.operationId}-body`
  return html`<p><label for="${id}-type">Send as</label><select id="${id}-type" class="type"><option value="application/json">JSON</option><option value="application/x-www-form-urlencoded">Form</option></select></p>
<p><label for="${id}">Body</label><textarea id="${id}" class="body" rows="6" spellcheck="false">${JSON.stringify(content.example, null, 2)}</textarea></p>`
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
