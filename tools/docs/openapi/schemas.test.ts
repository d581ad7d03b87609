/** Compares the bodies that the API accepts with the schemas of the document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { apiPrefix } from '../../../src/api/operations.ts'
import { operations } from '../../../src/app/operations.ts'
import { startApp, type TestApp } from '../../../test/app.ts'
import type { Answer, Json } from '../../../test/client.ts'
import { storeExampleBatch } from '../../../test/events.ts'
import { newMember } from '../../../test/members.ts'
import { openApiDocument } from './document.ts'

const document: Json = JSON.parse(JSON.stringify(openApiDocument(operations, 'https://links.example.com')))
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
  const { schema } = contentOf(document.paths[apiPrefix + path][method.toLowerCase()])[media[kind]]
  const validator = kind === 'form' ? ofForms : ajv
  const isValid = validator.getSchema(`api${schema.$ref}`)
  assert.ok(isValid)
  return isValid(structuredClone(body)) ? null : validator.errorsText(isValid.errors)
}

/** Returns the content of a request body by media type. */
function contentOf({ requestBody }: Json): Json {
  return document.components.requestBodies[requestBody.$ref.split('/').at(-1)].content
}

/** Sends the body of an operation. Updates get their own record. Deletes the stored record. */
async function sendTo(app: TestApp, path: string, method: string, kind: Kind, body: object): Promise<Answer> {
  const [plural = '', action = ''] = path.split('/{id}')
  const list = apiPrefix + plural
  const isStore = list === apiPrefix + path
  if (plural === '/members') {
    const { id } = await newMember(app.storage, app.account, { role: 'viewer' })
    return app.send(method, `${list}/${id}`, { [kind]: body })
  }
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

const forms: readonly (readonly [path: string, method: string, body: object])[] = [
  ...names.map((name) => ['/domains', 'POST', { name }] as const),
  ...urls.map((url) => ['/domains', 'POST', { name: 'urls.example', homepage_url: url }] as const),
  ['/domains', 'POST', { name: 'empty.example', homepage_url: '', not_found_url: '' }],
  ...update.flatMap(([method, id]) => [
    [`/domains${id}`, method, {}] as const,
    [`/domains${id}`, method, { homepage_url: '', not_found_url: 'https://acme.com' }] as const,
    [`/spaces${id}`, method, {}] as const,
    [`/spaces${id}`, method, { name: 'x', color: '4' }] as const,
    [`/spaces${id}`, method, { id: 'x', created_at: '', updated_at: 'y' }] as const,
  ]),
  ...colors.map((color) => ['/spaces', 'POST', { name: 'Маркетинг', color }] as const),
  ['/spaces', 'POST', { name: 'x', color: '' }],
]

const jsonBodies: typeof forms = [
  ['/domains', 'POST', { name: 'null.example', homepage_url: null, not_found_url: null }],
  ['/domains/{id}', 'PATCH', { homepage_url: null }],
  ['/spaces', 'POST', { name: 'x', color: 4 }],
  ['/spaces', 'POST', { name: 'x', color: null }],
  ['/spaces', 'POST', { name: 'x'.repeat(255) }],
]

test('allows every body that the API accepts; JSON may have the text of a form', async () => {
  const app = await startApp()
  for (const [documented, bodies, kinds] of [
    ['form', forms, ['form', 'json']],
    ['json', jsonBodies, ['json']],
  ] as const) {
    for (const [path, method, body] of bodies) {
      const asked = `${method} ${path} ${JSON.stringify(body)}`
      assert.equal(complaint(path, method, documented, body), null, asked)
      for (const kind of kinds) {
        const { status, text } = await sendTo(app, path, method, kind, body)
        assert.ok(status === 200 || status === 201, `${asked} ${kind}: ${text}`)
      }
    }
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
  await storeExampleBatch(app.storage, app.account)
  // The example of a merge names the second tag.
  for (const name of ['One', 'Two']) await app.send('POST', `${apiPrefix}/tags`, { form: { name } })
  // Bulk requests and imports, whose body is a file, have their own tests.
  const paths = Object.entries<Json>(document.paths).filter(([path]) => !/\/(bulk|imports)/.test(path))
  for (const [path, item] of paths) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      for (const kind of ['form', 'json'] as const) {
        if (operation.requestBody === undefined) continue
        const { schema, example } = contentOf(operation)[media[kind]]
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

const { schemas, requestBodies } = document.components

test('JSON is the first media type of every body, and a JSON value has one type, or is null', () => {
  for (const [name, { content }] of Object.entries<Json>(requestBodies)) {
    assert.deepEqual(Object.keys(content)[0], media.json, name)
    for (const [field, property] of Object.entries<Json>(schemas[name].properties)) {
      const alternatives = alternativesOf(property)
      const types = new Set(alternatives.map(({ type }) => type).filter((type) => type !== 'null'))
      assert.equal(types.size, 1, `${name}.${field}`)
      assert.ok(!alternatives.some(({ enum: values }) => values?.includes('')), `${name}.${field}`)
    }
  }
})

const scalarNames = [
  ...['disabled', 'forward_query', 'archived', 'redirect_status', 'color', 'into'],
  ...['domain_id', 'space_id', 'clicks_limit'],
]

/** The scalar fields of each body, with their schemas in JSON, and whether the documents and the server accept a value. */
const scalars = operations
  .flatMap(({ body }) => body ?? [])
  .flatMap(({ name, form }) =>
    scalarNames
      // A field that can't be changed accepts its stored value only, which the form does not know.
      .filter((field) => field in form.fields && !schemas[name].properties[field].readOnly)
      .map((field) => ({
        label: `${name}.${field}`,
        alternatives: alternativesOf(schemas[name].properties[field]),
        inJson: ajv.compile(schemas[name].properties[field]),
        inForms: ajv.compile(schemas[`${name}Form`].properties[field]),
        isAccepted: (value: unknown) => form.read({ [field]: value }).violations.every((each) => each.field !== field),
      })),
  )

function alternativesOf({ anyOf, ...schema }: Json): Json[] {
  return anyOf ?? [schema]
}

function documentedValue({ type, enum: values, minimum, maximum }: Json): fc.Arbitrary<unknown> {
  if (values !== undefined) return fc.constantFrom(...values)
  if (type === 'integer') return fc.integer({ min: minimum, max: maximum })
  return type === 'boolean' ? fc.boolean() : fc.constant(null)
}

const nearMisses = fc.constantFrom<unknown[]>(
  ...['2', '01', '00', '+1', '1.0', '1e0', 'TRUE', 'yes', 'on', 'null', ' 1 ', ' ', '\u0000', '٣', '9'.repeat(17)],
  ...['9007199254740991', '9007199254740992', '1000000001', '', 'true', 'false', '0', '1', '301'],
  ...[2, -1, -0, 0.5, 7, 300, 303, 1e21, 1_000_000_001, 2 ** 53, [], {}, [true], ['1'], { '': 1 }],
)

/** The values that a text in a form can stand for: integers are in decimal form without leading zeros. */
function valuesOfText(text: string): unknown[] {
  const isInteger = /^(0|[1-9][0-9]*)$/.test(text)
  return [text, ...(isInteger ? [Number(text)] : []), ...(/^(true|false)$/.test(text) ? [text === 'true'] : [])]
}

test('scalar fields accept exactly the JSON values in their schema, and the text that forms may have', () => {
  assert.ok(scalars.length > scalarNames.length)
  for (const { label, alternatives, inJson, inForms, isAccepted } of scalars) {
    const value = fc.oneof(...alternatives.map(documentedValue), nearMisses, fc.integer(), fc.jsonValue())
    const isText = (sent: unknown) => valuesOfText(String(sent).trim()).some((each) => inForms(each))
    const isDocumented = (sent: unknown) => inJson(sent) || (typeof sent !== 'object' && isText(sent))
    fc.assert(
      fc.property(value, (sent) => {
        assert.equal(isAccepted(sent), isDocumented(sent), `${label} ${JSON.stringify(sent)}`)
      }),
    )
  }
})
