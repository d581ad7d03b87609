/** The parts of an OpenAPI document that the reference shows, and its schemas as people read them. */
import { Html, html, type Part } from '../../../src/http/html.ts'

/** A document in which only schemas have references; see `inlineReferences`. */
export interface OpenApi {
  readonly info: { readonly [Name in 'title' | 'version' | 'summary' | 'description']: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface OperationObject {
  readonly operationId: string
  readonly tags: readonly [string]
  readonly summary: string
  readonly description: string
  readonly security: readonly object[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Response>>
}

export interface Parameter extends Row {
  readonly in: 'path' | 'query' | 'header'
  readonly example?: unknown
}

export interface Response {
  readonly description: string
  readonly headers?: object
  readonly content?: Readonly<Record<string, Content>>
}

export interface Content {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example>>
}

export interface Example {
  readonly summary: string
  readonly value: { readonly code: string }
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly description?: string
  readonly readOnly?: boolean
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/** Replaces the references in a parsed document by their targets, except references to schemas. Returns the document. */
export function inlineReferences(document: ParsedDocument, node: object = document): OpenApi {
  for (const [name, value] of Object.entries(node)) {
    if (!(value instanceof Object)) continue
    const [, kind, target] = /^#\/components\/(?!schemas)(\w+)\/(.+)$/.exec(value.$ref) ?? []
    if (kind === undefined) inlineReferences(document, value)
    else Object.assign(node, { [name]: document.components[kind]?.[target as string] })
  }
  return document as unknown as OpenApi
}

type ParsedDocument = { readonly components: Readonly<Record<string, Readonly<Record<string, object>>>> }

/** Returns the name of the schema that a reference refers to, such as `Domain`. */
function nameOf($ref: string): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}

/** Returns the target of a reference, or any other schema unchanged. */
export function schemaOf({ components }: OpenApi, schema: Schema): Schema {
  return (schema.$ref && components.schemas[nameOf(schema.$ref)]) || schema
}

/** A field or parameter in a table. */
export interface Row {
  readonly name: string
  readonly required: boolean
  readonly schema: Schema
  readonly description: string
}

/** Renders fields or parameters. The server sends every required field; clients have to send them. */
export function rowsOf(rows: readonly Row[], isRequest = true): Html {
  return html`<dl class="fields">${rows.map(
    ({ name, required, schema, description }) => html`
<div><dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${flagsOf({ required, schema }, isRequest)}</dt>
<dd>${inline(description)}</dd></div>`,
  )}
</dl>`
}

function flagsOf({ required, schema }: Pick<Row, 'required' | 'schema'>, isRequest: boolean): Part {
  return [
    required ? (isRequest ? html` <strong>required</strong>` : null) : html` <span class="flag">optional</span>`,
    isNullable(schema) ? html` <span class="flag">nullable</span>` : null,
  ]
}

function isNullable({ type, anyOf = [] }: Schema): boolean {
  return [type].flat().includes('null') || anyOf.some(isNullable)
}

/** Returns the fields of an object. Fields of nested objects are named `outer.inner`. */
export function fieldsOf(document: OpenApi, schema: Schema, prefix = ''): Row[] {
  const { allOf = [], properties = {}, required = [] } = schema
  const inherited = allOf.flatMap((each) => fieldsOf(document, schemaOf(document, each), prefix))
  const own = Object.entries(properties).flatMap(([name, property]): Row[] =>
    Object.keys(property.properties ?? {}).length === 0
      ? [
          {
            name: prefix + name,
            required: required.includes(name),
            schema: property,
            description: property.description ?? property.anyOf?.[0]?.description ?? '',
          },
        ]
      : fieldsOf(document, property, `${prefix}${name}.`),
  )
  return [...inherited, ...own]
}

/** Renders the type of a value with its bounds. Types of objects are links. */
export function typeOf(schema: Schema): Part {
  if (schema.$ref !== undefined) return html`<a href="#${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>`
  if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}`
  // The first of two text types is more specific.
  const kinds = [...Map.groupBy(schema.anyOf ?? [schema], ({ type }) => String(type)).values()].map(([first]) => first)
  const list = kinds.find((kind) => kind?.items !== undefined)
  if (list !== undefined) return typeOf(list)
  const names = kinds.flatMap((kind) => (kind === undefined ? [] : describeType(kind)))
  return [names.join(' or '), boundsOf(kinds[0] ?? schema), defaultOf(schema)]
}

function describeType({ enum: values, type = 'any', format = '' }: Schema): string[] {
  if (values !== undefined)
    return [
      values
        .map(String)
        .join(', ')
        .replace(/, ([^,]+)$/, ' or $1'),
    ]
  const names = [type].flat().filter((name) => name !== 'null')
  return names.map((name) => (name === 'string' ? (words[format] ?? name) : name))
}

const words: Readonly<Record<string, string>> = {
  uri: 'URL',
  'uri-reference': 'URL',
  hostname: 'host name',
  'date-time': 'time',
  date: 'date',
}

function boundsOf({ minimum, maximum = Number.MAX_SAFE_INTEGER, maxLength }: Schema): string {
  const shown = (value: number) => value.toLocaleString('en-US')
  if (maxLength !== undefined) return `, up to ${shown(maxLength)} characters`
  if (minimum === undefined) return ''
  return maximum < Number.MAX_SAFE_INTEGER ? `, ${minimum} to ${shown(maximum)}` : `, ${minimum} or more`
}

function defaultOf(schema: Schema): Part {
  return schema.default === undefined ? null : html`, default ${String(schema.default)}`
}

/** Renders blocks separated by blank lines. Headings are of level 3. */
export function markdown(text: string): Html {
  const blocks = text.split(/\n{2,}/).filter((block) => block !== '')
  return html`${blocks.map(blockOf)}`
}

/** Renders code and bold text within a line. */
export function inline(text: string): Html {
  const { text: escaped } = html`${text}`
  return new Html(escaped.replace(/`([^`]+)`/g, '<code>$1</code>').replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>'))
}

function blockOf(block: string): Html {
  const [, code] = /^```\w*\n(.*)\n```$/s.exec(block) ?? []
  if (code !== undefined) return html`<pre><code>${code}</code></pre>`
  if (block.startsWith('## ')) return html`<h3>${block.slice('## '.length)}</h3>`
  if (block.startsWith('- '))
    return html`<ul>${block
      .slice(2)
      .split('\n- ')
      .map((item) => html`<li>${inline(item)}</li>`)}</ul>`
  return html`<p>${inline(block)}</p>`
}
