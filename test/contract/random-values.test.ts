/** Random values in every field and parameter of every documented operation never cause a failure of the server. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { operations } from '../../src/app/operations.ts'
import { conditions } from '../../src/rules/conditions.ts'
import { startApp } from '../app.ts'
import { anyCharacter } from '../characters.ts'
import type { Json, Request } from '../client.ts'
import { type Place as Account, newPlace } from '../links-api.ts'
import { prepareRequest } from '../requests.ts'
import { runs } from '../runs.ts'

const { paths, components }: Json = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
)

/** A field of a body, or of a row or object within it. */
type Place = readonly [field: string, ...path: string[]]

interface DocumentedOperation {
  readonly id: string
  readonly method: string
  /** The path after `/api/v1`. */
  readonly path: string
  readonly parameters: readonly Json[]
  readonly media: readonly string[]
  readonly places: readonly Place[]
}

const ruleFields = ['name', 'url', 'urls', ...Object.keys(conditions), 'unknown']

const documented = Object.entries<Json>(paths).flatMap(([path, item]) =>
  Object.entries<Json>(item)
    .filter(() => path.startsWith('/api/v1'))
    .map(([method, operation]): DocumentedOperation => {
      const content = operation.requestBody ? resolved(operation.requestBody).content : {}
      const { properties = {} }: Json = resolved(content['application/json']?.schema ?? {})
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path: path.slice('/api/v1'.length),
        parameters: operation.parameters.map(resolved),
        media: Object.keys(content),
        places: Object.keys(properties).flatMap(placesIn),
      }
    }),
)

function resolved(value: Json): Json {
  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref ?? '') ?? []
  return kind === undefined ? value : components[kind][name as string]
}

/** Rows of bulk requests are documented as objects with a link's fields. */
function placesIn(field: string): Place[] {
  const rows: Readonly<Record<string, [schema: string, ...path: string[]]>> = {
    links: ['StoreLink', '0'],
    set: ['UpdateLink'],
  }
  const [schema, ...path] = rows[field] ?? []
  if (field === 'rules') return [[field], ...ruleFields.map((name): Place => [field, '0', name])]
  const names = schema === undefined ? [] : [...Object.keys(components.schemas[schema].properties), 'unknown']
  return [[field], ...names.map((name): Place => [field, ...path, name])]
}

const characters = fc.string({
  unit: fc.oneof(anyCharacter, fc.constantFrom(...'0123,.:/@%"\\\u0000\ud800\udfff\u200b ')),
})
const names = fc.constantFrom('', ...'__proto__ constructor toString valueOf toJSON length then url'.split(' '))
const scalars = fc.oneof(
  characters.map((text) => JSON.stringify(text)),
  fc.constantFrom(...'null true false 0 -0 1e999 -1e999 1e21 1.5 -1 9007199254740993 1e-7'.split(' ')),
  fc.constantFrom('""', '"1"', '"true"', '"\\u0000"', '"\\ud800"', '"https://acme.com"', '"2026-12-31 23:59"'),
  fc.constantFrom(2_100, 70_000).map((length) => JSON.stringify('x'.repeat(length))),
  fc.integer().map(String),
)
/** The text of a JSON value. */
const { json: jsonText } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: scalars },
    { weight: 2, arbitrary: fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items}]`) },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.tuple(fc.oneof(names, characters), tie('json')), { maxLength: 3 })
        .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`)}}`),
    },
  ),
}))
/** An encoded value of a query or form. Longer URLs have their own tests. */
const encoded = fc
  .oneof(
    fc.oneof(characters, jsonText).map((text) => encodeURIComponent(text.toWellFormed())),
    fc.constantFrom('', '1', '0', '-1', '100', '1e3', '01', '1,2', 'true', 'csv', 'png', 'clicks', '2026-02-30'),
    fc.constantFrom('%ff', '%zz', '%', '%00', '+', '%ed%a0%80', 'a&b=c', '9'.repeat(400)),
  )
  .filter((value) => value.length < 7_000)
const header = fc.string({ unit: fc.constantFrom(...'"*,W/-\\ a0~'), minLength: 1, maxLength: 20 })

const hole = 'replaced by the value'

/** Returns JSON in which the place has the value. */
function withValue(body: Json, place: Place, value: string): string {
  const copy = structuredClone(body)
  const [last = '', ...outer] = place.toReversed()
  let parent = copy
  for (const name of outer.reverse()) parent = parent[name] ??= {}
  parent[last] = hole
  return JSON.stringify(copy).replace(JSON.stringify(hole), () => value)
}

const app = await startApp()

interface Target {
  /** With the id of an own record. */
  readonly path: string
  /** The question mark and the required parameters, each with a `&`. */
  readonly query: string
  /** A valid body with the required fields. */
  readonly body: Json
}

/** Stores what an operation needs, and returns a valid request. */
async function prepare({ id, parameters }: DocumentedOperation, at: Account): Promise<Target> {
  const operation = operations.find((each) => each.id === id) ?? assert.fail(id)
  const { path, query, request } = await prepareRequest(app, at, operation)
  const given = parameters.filter((each) => each.in === 'query' && each.required && !query.includes(`${each.name}=`))
  const missing = given.map(({ name, schema }) => `&${name}=${schema.enum[0]}`).join('')
  return { path, query: `?${query.slice(1)}${missing}&`, body: request.json }
}

/** A random value, and where it is sent. */
type Sent =
  | { readonly in: 'json'; readonly place: Place; readonly value: string }
  | { readonly in: 'form' | 'query' | 'header' | 'path' | 'csv'; readonly name: string; readonly value: string }

/** Returns a value for each place in a request of the operation. */
function valuesFor({ parameters, media, places }: DocumentedOperation): fc.Arbitrary<Sent>[] {
  const jsons = media.includes('application/json') ? places : []
  const forms = media.includes('application/x-www-form-urlencoded') ? places : []
  const csv = media.includes('text/csv') ? ['rows'] : []
  const others = [...forms.map(([name]) => ({ in: 'form', name })), ...parameters]
  return [
    ...jsons.map((place) => jsonText.map((value): Sent => ({ in: 'json', place, value }))),
    ...others.map(({ in: where, name }) =>
      (where === 'header' ? header : encoded).map((value): Sent => ({ in: where, name, value })),
    ),
    ...csv.map((name) => characters.map((value): Sent => ({ in: 'csv', name, value }))),
  ]
}

/** Returns a request in which only this value may be invalid. */
function requestWith(sent: Sent, { path, query, body }: Target): [path: string, request: Request] {
  const { value } = sent
  const valid: Request = body === undefined ? {} : { json: body }
  const typed = (text: string, type: string) => ({ body: text, headers: { 'content-type': type } })
  if (sent.in === 'json') return [path + query, typed(withValue(body ?? {}, sent.place, value), 'application/json')]
  const { name } = sent
  const { [name]: _, ...others } = body ?? {}
  return {
    form: (): [string, Request] => [path + query, { form: `${new URLSearchParams(others)}&${name}=${value}` }],
    query: (): [string, Request] => [`${path}${query}${name}=${value}`, valid],
    header: (): [string, Request] => [path + query, { ...valid, headers: { [name]: value } }],
    path: (): [string, Request] => [path.replace(/[1-9]\d*/, value) + query, valid],
    csv: (): [string, Request] => [path + query, typed(`url,alias\n${value}`, 'text/csv')],
  }[sent.in]()
}

for (const operation of documented) {
  test(`${operation.method} ${operation.path} has no 5xx for any value, and the documented response`, async () => {
    const at = await newPlace(app)
    await fc.assert(
      fc.asyncProperty(fc.tuple(...valuesFor(operation)), async (values) => {
        let target = await prepare(operation, at)
        for (const sent of values) {
          const [path, request] = requestWith(sent, target)
          // This also compares the response with the document.
          const { status, text } = await at.send(operation.method, path, request)
          assert.ok(status < 500, `${path} ${JSON.stringify(request)}: ${text}`)
          if (status < 300 && operation.method !== 'GET') target = await prepare(operation, at)
        }
      }),
      { numRuns: runs(50, 1) },
    )
  })
}

/** Values of each kind, which code that expects a text may not know. Objects have no prototype. */
const shapes = ['{}', '[]', '[{}]', '[[]]', '{"a":{}}', '{"toString":"x"}', '[{"0":[null]}]', 'true', '1.5', 'null']

/** Returns a value of each kind for each field of a body, and several values for each parameter. */
function shapesFor({ parameters, media, places }: DocumentedOperation): Sent[] {
  const jsons = media.includes('application/json') ? places : []
  const forms = media.includes('application/x-www-form-urlencoded') ? places.map(([name]) => ['form', name]) : []
  const queries = parameters.filter((each) => each.in === 'query').map(({ name }) => ['query', name])
  return [
    ...jsons.flatMap((place) => shapes.map((value): Sent => ({ in: 'json', place, value }))),
    ...([...forms, ...queries] as ['form' | 'query', string][]).flatMap(([where, name]): Sent[] => [
      { in: where, name, value: `1&${name}=2` },
      { in: where, name: `${name}[]`, value: '1' },
      { in: where, name: `${name}[a][b]`, value: '1' },
    ]),
  ]
}

test('no operation has a 5xx for a list, an object, a boolean or a number in any field', async () => {
  const at = await newPlace(app)
  let sent = 0
  for (const operation of documented) {
    let target = await prepare(operation, at)
    for (const value of shapesFor(operation)) {
      const [path, request] = requestWith(value, target)
      const { status, text } = await at.send(operation.method, path, request)
      assert.ok(status < 500, `${operation.method} ${path} ${JSON.stringify(request)}: ${text}`)
      if (status < 300 && operation.method !== 'GET') target = await prepare(operation, at)
      sent += 1
    }
  }
  assert.ok(sent > 2_000, String(sent))
})

test('every operation with a body has fields', () => {
  assert.equal(documented.length, operations.length)
  // The body of a plan is a file.
  const withFields = documented.filter(({ path }) => path !== '/imports')
  for (const { path, media, places } of withFields) assert.equal(media.length > 0, places.length > 0, path)
})
