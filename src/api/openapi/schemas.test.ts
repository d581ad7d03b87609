/** Compares the bodies that the API accepts with the schemas of the document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { startApp, type TestApp } from '../../../test/app.ts'
import type { Answer, Json } from '../../../test/client.ts'
import { operations } from '../../app/api.ts'
import { apiPrefix } from '../operations.ts'
import { openApiDocument } from './document.ts'
import type { Bodies } from './schemas.ts'

const documentOf = (which: Bodies): Json =>
  JSON.parse(JSON.stringify(openApiDocument(operations, 'https://links.example.com', which)))
const document = documentOf('all')
const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(document, 'api')

/** Values in forms are text, from which validators read integers. */
const ofForms = new Ajv2020({ strict: false, allErrors: true, coerceTypes: true })
formats.default(ofForms)
ofForms.addSchema(document, 'api')

const media = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const
type Kind = keyof typeof media

function complaint(path: string, method: string, kind: Kind, body: object): string | null {
  const { schema } = document.paths[apiPrefix + path][method.toLowerCase()].requestBody.content[media[kind]]
  const validator = kind === 'form' ? ofForms : ajv
  const isValid = validator.getSchema(`api${schema.$ref}`)
  assert.ok(isValid)
  return isValid(structuredClone(body)) ? null : validator.errorsText(isValid.errors)
}

/** Sends the body of an operation. Updates get their own record. Deletes the stored record. */
async function sendTo(app: TestApp, path: string, method: string, kind: Kind, body: object): Promise<Answer> {
  const [plural = '', action = ''] = path.split('/{id}')
  const list = apiPrefix + plural
  const isStore = list === apiPrefix + path
  const other = list.endsWith('/links') ? { url: 'https://changed.example' } : { name: 'changed.example' }
  const stored = await app.send('POST', list, isStore ? { [kind]: body } : { form: other })
  if (stored.status !== 201) return stored
  const record = `${list}/${stored.body.data.id}`
  const answer = isStore ? stored : await app.send(method, record + action, { [kind]: body })
  await app.send('DELETE', record)
  return answer
}

const urls = ['HTTP://Acme.com:8080/a?b#c', 'https://bücher.example/ä', 'https://acme.com/{x}|y', 'http://localhost']
const names = ['go.acme.com', 'GO.Example.ORG', 'Bücher.example', 'intranet', 'acme.example.', '例え.example']
const colors = ['1', '4', '6']
const update = ['PUT', 'PATCH'].map((method) => [method, '/{id}'] as const)

const accepted: readonly (readonly [path: string, method: string, kind: Kind, body: object])[] = [
  ...(['form', 'json'] as const).flatMap((kind) => [
    ...names.map((name) => ['/domains', 'POST', kind, { name }] as const),
    ...urls.map((url, at) => ['/domains', 'POST', kind, { name: `${kind}${at}.example`, homepage_url: url }] as const),
    ['/domains', 'POST', kind, { name: `${kind}.example`, homepage_url: '', not_found_url: '' }] as const,
    ...update.flatMap(([method, id]) => [
      [`/domains${id}`, method, kind, {}] as const,
      [`/domains${id}`, method, kind, { homepage_url: '', not_found_url: 'https://acme.com' }] as const,
      [`/spaces${id}`, method, kind, {}] as const,
      [`/spaces${id}`, method, kind, { name: 'x', color: '4' }] as const,
      [`/spaces${id}`, method, kind, { id: 'x', created_at: '', updated_at: 'y' }] as const,
    ]),
    ...colors.map((color) => ['/spaces', 'POST', kind, { name: 'Маркетинг', color }] as const),
    ['/spaces', 'POST', kind, { name: 'x', color: '' }] as const,
  ]),
  ['/domains', 'POST', 'json', { name: 'null.example', homepage_url: null, not_found_url: null }],
  ['/domains/{id}', 'PATCH', 'json', { homepage_url: null }],
  ['/spaces', 'POST', 'json', { name: 'x', color: 4 }],
  ['/spaces', 'POST', 'json', { name: 'x', color: null }],
  ['/spaces', 'POST', 'json', { name: 'x'.repeat(255) }],
]

test('allows every body that the API accepts', async () => {
  const app = await startApp()
  for (const [path, method, kind, body] of accepted) {
    const asked = `${method} ${path} ${kind} ${JSON.stringify(body)}`
    const answer = await sendTo(app, path, method, kind, body)
    assert.ok([200, 201].includes(answer.status), `${asked}: ${answer.text}`)
    assert.equal(complaint(path, method, kind, body), null, asked)
  }
})

test('rejects every body that the API rejects for its type', async () => {
  const app = await startApp()
  for (const [path, method, kind, body] of [
    ['/domains', 'POST', 'form', { homepage_url: 'https://acme.com' }],
    ['/domains', 'POST', 'form', { name: '' }],
    ['/domains', 'POST', 'json', { name: null }],
    ['/domains', 'POST', 'json', { name: 'a b' }],
    ['/domains', 'POST', 'json', { name: 'acme.example', homepage_url: 'ftp//x y' }],
    ['/spaces', 'POST', 'json', { name: 'x', color: 7 }],
    ['/spaces', 'POST', 'json', { name: 'x', color: '04' }],
    ['/spaces', 'POST', 'form', { name: 'x', color: '7' }],
    ['/spaces', 'POST', 'json', { name: 'x', colour: 1 }],
    ['/spaces/{id}', 'PATCH', 'form', { color: '' }],
    ['/spaces/{id}', 'PATCH', 'json', { name: null }],
  ] as const) {
    const asked = `${method} ${path} ${kind} ${JSON.stringify(body)}`
    assert.equal((await sendTo(app, path, method, kind, body)).status, 422, asked)
    assert.notEqual(complaint(path, method, kind, body), null, asked)
  }
})

test('has body examples that validate and that the API accepts', async () => {
  const app = await startApp()
  await app.send('POST', `${apiPrefix}/domains`, { form: { name: 'of-links.example' } })
  // The example of a merge names the second tag.
  for (const name of ['One', 'Two']) await app.send('POST', `${apiPrefix}/tags`, { form: { name } })
  // Bulk requests have their own tests.
  const paths = Object.entries<Json>(document.paths).filter(([path]) => !path.includes('/bulk'))
  for (const [path, item] of paths) {
    for (const [method, { requestBody }] of Object.entries<Json>(item)) {
      for (const kind of ['form', 'json'] as const) {
        if (requestBody === undefined) continue
        const { schema, example } = requestBody.content[media[kind]]
        const { properties, examples } = document.components.schemas[schema.$ref.split('/').at(-1)]
        const shown = Object.entries<Json>(properties).filter(([, { readOnly, examples }]) => !readOnly && examples)
        const ofFields = Object.fromEntries(shown.map(([name, property]) => [name, property.examples[0]]))
        const own = path.slice(apiPrefix.length)
        for (const body of [example, ...examples, ofFields]) {
          assert.equal(complaint(own, method, kind, body), null)
          const answer = await sendTo(app, own, method.toUpperCase(), kind, body)
          assert.ok([200, 201].includes(answer.status), `${method} ${path} ${kind}: ${answer.text}`)
        }
      }
    }
  }
})

const bodies = operations.flatMap(({ body }) => body ?? [])
const all = document.components.schemas
const native = documentOf('json').components.schemas

const exact = ['disabled', 'forward_query', 'redirect_status', 'color']
/** Their text has a pattern, which limits the number of digits and not the value. */
const integers = ['domain_id', 'space_id', 'clicks_limit']

/** Each scalar field of each body, with its schema and what the server says to a value. */
function scalarsIn(schemas: Json, names: readonly string[]) {
  return bodies.flatMap(({ name, form }) =>
    names
      // A field that can't be changed accepts its stored value only, which the form does not know.
      .filter((field) => field in form.fields && !alternativesOf(schemas[name].properties[field])[0].readOnly)
      .map((field) => ({
        label: `${name}.${field}`,
        alternatives: alternativesOf(schemas[name].properties[field]),
        isDocumented: ajv.compile(schemas[name].properties[field]),
        isAccepted: (value: unknown) => form.read({ [field]: value }).violations.every((each) => each.field !== field),
      })),
  )
}

function alternativesOf({ anyOf, ...schema }: Json): Json[] {
  return anyOf ?? [schema]
}

function documentedValue({ type, enum: values, pattern, minimum, maximum }: Json): fc.Arbitrary<unknown> {
  if (values !== undefined) return fc.constantFrom(...values)
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  if (type === 'integer') return fc.integer({ min: minimum, max: maximum })
  return type === 'boolean' ? fc.boolean() : fc.constant(null)
}

const nearMisses = fc.constantFrom<unknown[]>(
  ...['2', '01', '00', '+1', '1.0', '1e0', 'TRUE', 'yes', 'on', 'null', ' 1 ', ' ', '\u0000', '٣', '9'.repeat(17)],
  ...[2, -1, -0, 0.5, 7, 300, 303, 1e21, 1_000_000_001, 2 ** 53, [], {}, [true], ['1'], { '': 1 }],
)

function valueFor(alternatives: readonly Json[]): fc.Arbitrary<unknown> {
  return fc.oneof(...alternatives.map(documentedValue), nearMisses, fc.integer(), fc.jsonValue())
}

/** The document states once that text is trimmed. */
const trimmed = (value: unknown) => (typeof value === 'string' ? value.trim() : value)

test('booleans and enumerations accept exactly the values that their schemas allow', () => {
  const scalars = scalarsIn(all, exact)
  assert.ok(scalars.length > exact.length)
  for (const { label, alternatives, isDocumented, isAccepted } of scalars) {
    fc.assert(
      fc.property(valueFor(alternatives), (value) => {
        assert.equal(isAccepted(value), isDocumented(trimmed(value)), `${label} ${JSON.stringify(value)}`)
      }),
    )
  }
})

test('integers accept exactly the values that their schemas allow, except text just beyond the maximum', () => {
  for (const { label, alternatives, isDocumented, isAccepted } of scalarsIn(all, integers)) {
    const [{ maximum }] = alternatives as [Json]
    fc.assert(
      fc.property(valueFor(alternatives), (value) => {
        const sent = trimmed(value)
        const isJustBeyond = typeof sent === 'string' && sent.length === `${maximum}`.length && Number(sent) > maximum
        assert.equal(isAccepted(value), isDocumented(sent) && !isJustBeyond, `${label} ${JSON.stringify(value)}`)
      }),
    )
  }
})

test('native JSON values are accepted, and no field takes both numbers and text', () => {
  for (const { label, alternatives, isAccepted } of scalarsIn(native, [...exact, ...integers])) {
    const types = alternatives.map(({ type }) => type).filter((type) => type !== 'null')
    assert.equal(types.length, 1, `${label} ${types}`)
    fc.assert(
      fc.property(fc.oneof(...alternatives.map(documentedValue)), (value) => {
        assert.ok(isAccepted(value), `${label} ${JSON.stringify(value)}`)
      }),
    )
  }
})
