import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { apiPrefix } from '../../../src/api/operations.ts'
import { operations } from '../../../src/app/operations.ts'
import { pageCodes } from '../../../src/errors.ts'
import { failures } from '../../../src/http/failures.ts'
import { startApp } from '../../../test/app.ts'
import type { Json } from '../../../test/client.ts'
import { violationCodes } from '../problem-texts.ts'
import { openApiDocument } from './document.ts'

const document: Json = JSON.parse(JSON.stringify(openApiDocument(operations, 'http://localhost:3000')))
const pathItems = Object.entries<Json>(document.paths)
const methods = ['get', 'post', 'put', 'patch', 'delete']

test('describes every route of the API, and no other', async () => {
  const documented = pathItems.flatMap(([path, item]) =>
    methods.filter((method) => item[method]).map((method) => `${method} ${path}`),
  )
  const ofApi = documented.filter((route) => route.includes(` ${apiPrefix}/`))
  assert.deepEqual(ofApi.sort(), (await registeredRoutes()).sort())
})

test('has an example for every API error code, which an operation refers to', () => {
  const shown = pathItems.flatMap(([, item]) => methods.flatMap((method) => codesOf(item[method])))
  const ofPages: readonly string[] = pageCodes
  const codes = Object.keys(failures).filter((code) => !ofPages.includes(code))
  assert.deepEqual([...new Set(shown)].sort(), codes.toSorted())
  assert.deepEqual(document.components.schemas.ErrorCode.enum, codes)
})

test('lists and explains every violation code', () => {
  const { enum: codes, description } = document.components.schemas.ViolationCode
  assert.deepEqual(codes, Object.keys(violationCodes))
  for (const [code, meaning] of Object.entries(violationCodes))
    assert.ok(description.includes(`\`${code}\`: ${meaning}`))
})

test('has valid examples only', () => {
  const inBothMediaTypes = 2 * Object.keys(failures).length
  assert.ok(checkExamples(document, '') > inBothMediaTypes)
})

/** Returns the routes of the app, such as `get /api/v1/domains/{id}`. HEAD goes with every GET. */
async function registeredRoutes(): Promise<string[]> {
  const { router } = await startApp()
  return router.declared
    .map(({ method, template }) => `${method.toLowerCase()} ${template.replace(/:(\w+)/g, '{$1}')}`)
    .filter((route) => route.includes(` ${apiPrefix}/`) && !route.startsWith('head '))
}

/** Returns the error codes in the examples of an operation's responses. */
function codesOf(operation: Json): string[] {
  return Object.values<Json>(operation?.responses ?? {}).flatMap((response) => {
    const content = resolved(response).content?.['application/problem+json']
    return Object.values<Json>(content?.examples ?? {}).map((example) => resolved(example).value.code)
  })
}

function resolved(value: Json): Json {
  if (value.$ref === undefined) return value
  return value.$ref
    .slice(2)
    .split('/')
    .reduce((parent: Json, name: string) => parent[name], document)
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(document, 'api')

function validator(pointer: string) {
  return ajv.compile({ $ref: `api#${encodeURI(pointer)}` })
}

/** Checks every `example` and `examples` next to a schema, at any depth. Returns their number. */
function checkExamples(value: Json, pointer: string): number {
  if (value === null || typeof value !== 'object') return 0
  const below = Object.entries(value).map(([name, child]) =>
    checkExamples(child, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
  if (value.schema === undefined) return below.reduce((sum, count) => sum + count, 0)
  const ofSchema: Json[] = Object.values<Json>(value.examples ?? {}).map((example) => resolved(example).value)
  if (value.example !== undefined) ofSchema.push(value.example)
  if (ofSchema.length === 0) return below.reduce((sum, count) => sum + count, 0)
  const isValid = validator(`${pointer}/schema`)
  for (const example of ofSchema) {
    assert.ok(isValid(example), `${pointer}: ${ajv.errorsText(isValid.errors)} in ${JSON.stringify(example)}`)
  }
  return below.reduce((sum, count) => sum + count, ofSchema.length)
}
