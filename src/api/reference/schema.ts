import { type Html, html, type Part } from '../../http/html.ts'
import { inline } from './markdown.ts'

/**
 * JSON Schemas as people read them.
 */

/** A field or parameter in a table. */
export interface Row {
  readonly name: string
  readonly required: boolean
  readonly schema: Schema
  readonly description: string
}

/** Renders fields as a list with types and descriptions. */
export function rowsOf(rows: readonly Row[]): Html {
  return html`<dl class="fields">${rows.map(
    ({ name, required, schema, description }) => html`
<div><dt><code>${name}</code> ${required ? html`<strong>required</strong> ` : null}<span class="type">${typeOf(schema)}</span></dt>
<dd>${inline(description)}</dd></div>`,
  )}
</dl>`
}

/** Returns the fields of an object. Fields of nested objects are named `outer.inner`. */
export function fieldsOf(document: OpenApi, schema: Schema, prefix = ''): Row[] {
  const inherited = (schema.allOf ?? []).flatMap((each) =>
    fieldsOf(document, resolved(document, each as Reference), prefix),
  )
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]): Row[] =>
    property.properties === undefined
      ? [{ name: prefix + name, required: false, schema: property, description: property.description ?? '' }]
      : fieldsOf(document, property, `${prefix}${name}.`),
  )
  return [...inherited, ...own]
}

/** Renders the type of a value with its bounds. Types of objects are links. */
export function typeOf(schema: Schema): Part {
  if (schema.$ref !== undefined)
    return html`<a href="#${nameOf(schema as Reference)}">${nameOf(schema as Reference)}</a>`
  if (schema.anyOf !== undefined) return alternatives(schema)
  if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}`
  return [describeType(schema).join(' or '), boundsOf(schema), defaultOf(schema)]
}

/** Renders each kind of value once. Of two text types, the first is more specific. */
function alternatives(schema: Schema): Part {
  const kinds = new Map<string, Schema>()
  for (const each of schema.anyOf ?? []) {
    const kind = each.enum?.includes('') ? 'empty' : String(each.type)
    if (!kinds.has(kind)) kinds.set(kind, each)
  }
  const [value = schema] = kinds.values()
  // Different spellings in JSON and forms have the same words.
  const words = new Set([...kinds.values()].flatMap(describeType))
  return [[...words].join(' or '), boundsOf(value), defaultOf(schema)]
}

function describeType(schema: Schema): string[] {
  if (schema.enum !== undefined) return schema.enum.map((value) => (value === '' ? 'empty' : String(value)))
  const { format = '' } = schema
  return [schema.type ?? 'any'].flat().flatMap((type) => {
    if (type === 'boolean') return ['true', 'false']
    return type === 'string' ? (words[format] ?? type) : type
  })
}

const words: Readonly<Record<string, string>> = {
  uri: 'URL',
  'uri-reference': 'URL',
  hostname: 'host name',
  'date-time': 'time',
  date: 'date',
}

function boundsOf({ minimum, maximum = Number.MAX_SAFE_INTEGER, maxLength }: Schema): string {
  if (maxLength !== undefined) return `, up to ${maxLength} characters`
  if (minimum === undefined) return ''
  return maximum < Number.MAX_SAFE_INTEGER ? `, ${minimum} to ${maximum}` : `, ${minimum} or more`
}

function defaultOf(schema: Schema): Part {
  return schema.default === undefined ? null : html`, default ${String(schema.default)}`
}

/**
 * The parts of an OpenAPI document that the reference shows.
 */

export interface OpenApi {
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
  }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: Components
}

export interface Components {
  readonly examples: Readonly<Record<string, Example>>
  readonly schemas: Readonly<Record<string, Schema>>
}

export interface Reference {
  readonly $ref: string
}

export interface OperationObject {
  readonly operationId: string
  readonly tags: readonly [string]
  readonly summary: string
  readonly description: string
  readonly security: readonly object[]
  readonly parameters: readonly (Parameter | Reference)[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Response | Reference>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: Schema
  readonly example?: unknown
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, Content>>
}

export interface Content {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example | Reference>>
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

/** Returns the target of a `$ref` into the document, or any other value unchanged. */
export function resolved<T extends object>(document: OpenApi, value: T | Reference): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T
  const path = value.$ref.slice('#/'.length).split('/')
  return path.reduce((parent: object, name) => parent[name as keyof typeof parent], document) as T
}

/** Returns the last part of a `$ref`, such as `Domain`. */
export function nameOf({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
