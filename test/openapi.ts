/** Compares the status, headers, content type and body of responses with docs/openapi.json. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Answer, Json } from './client.ts'

const file = new URL('../docs/openapi.json', import.meta.url)
const document: Json = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined

const strictly = new Ajv2020({ strict: false, allErrors: true })
/** For headers, which are all text. */
const leniently = new Ajv2020({ strict: false, coerceTypes: true })
for (const ajv of [strictly, leniently]) {
  formats.default(ajv)
  if (document !== undefined) ajv.addSchema(document as AnySchema, 'api')
}

/** A value in the document and its JSON pointer, after a `$ref` was followed. */
interface Found {
  readonly value: Json
  readonly pointer: string
}

/** Throws if the document does not allow this response to the request. */
export function checkAgainstDocument({ method, path }: { method: string; path: string }, answer: Answer): void {
  if (document === undefined) return
  const asked = `${method} ${path} → ${answer.status}`
  const response = documented(method, path.replace(/^https?:\/\/[^/]+/, '').split('?')[0] ?? '', answer)
  assert.ok(response, `${asked} is not documented`)
  checkDocumentedHeaders(response, answer, asked)
  if (method === 'HEAD' || answer.text === '') return
  const type = String(answer.headers['content-type']).split(';')[0] ?? ''
  const content = response.value.content?.[type]
  assert.ok(content, `${asked} is not documented as ${type}`)
  if (!type.endsWith('json') || content.schema === undefined) return
  assertValid(strictly, `${response.pointer}/content/${escaped(type)}/schema`, answer.body, asked)
}

/** Returns the documented response of the operation. Without an operation, returns the response of every path. */
function documented(method: string, path: string, answer: Answer): Found | undefined {
  const found = pathOf(path)
  const verb = method.toLowerCase()
  const item = found === undefined ? undefined : document.paths[found]
  const operation = item?.[verb] === undefined && verb === 'head' ? 'get' : verb
  if (found === undefined || item[operation] === undefined) return ofNoOperation(answer)
  return at(`/paths/${escaped(found)}/${operation}/responses/${answer.status}`)
}

/** Returns the path template in the document that matches the path of the request. */
function pathOf(path: string): string | undefined {
  const templates = Object.keys(document.paths).filter((template) => templatePattern(template).test(path))
  return templates.find((template) => !template.includes('{')) ?? templates[0]
}

function templatePattern(template: string): RegExp {
  const source = template
    .split(/\{\w+\}/)
    .map((text) => RegExp.escape(text))
    .join('[^/]+')
  return new RegExp(`^${RegExp.escape(prefix())}${source}$`)
}

function prefix(): string {
  const url = document.servers?.[0]?.url ?? '/'
  return new URL(url, 'http://host').pathname.replace(/\/$/, '')
}

const names: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'RouteNotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  414: 'UriTooLong',
  431: 'HeadersTooLarge',
  500: 'InternalError',
  503: 'ServiceUnavailable',
}

/** Outside of the operations, `components.responses` documents the problems of all paths; nothing documents successes. */
function ofNoOperation({ status }: Answer): Found | undefined {
  if (status < 400) return { value: { content: { 'application/json': {}, 'text/html': {} } }, pointer: '' }
  return at(`/components/responses/${names[status]}`)
}

function checkDocumentedHeaders({ value, pointer }: Found, answer: Answer, asked: string): void {
  for (const name of Object.keys(value.headers ?? {})) {
    const header = at(`${pointer}/headers/${escaped(name)}`)
    const sent = answer.headers[name.toLowerCase()]
    if (sent === undefined) assert.ok(!header?.value.required, `${asked} lacks the header ${name}`)
    else if (header?.value.schema) assertValid(leniently, `${header.pointer}/schema`, sent, `${asked}, header ${name}`)
  }
}

const compiled = new Map<string, ValidateFunction>()

function assertValid(ajv: Ajv2020, pointer: string, value: unknown, asked: string): void {
  const name = `${ajv === strictly}${pointer}`
  const validate =
    compiled.get(name) ?? ajv.compile({ $ref: `api#${pointer.split('/').map(encodeURIComponent).join('/')}` })
  compiled.set(name, validate)
  if (!validate(value)) {
    assert.fail(`${asked} is not as documented: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`)
  }
}

function at(pointer: string): Found | undefined {
  let value = document
  for (const part of pointer.split('/').slice(1)) value = value?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  if (value?.$ref !== undefined) return at(value.$ref.slice(1))
  return value === undefined ? undefined : { value, pointer }
}

function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}
