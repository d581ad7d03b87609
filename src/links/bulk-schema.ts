/** The forms and operations of bulk requests. */

import { isObject, Table } from '../api/body.ts'
import { type Body, bodyFailures, idempotencyFailures, type Operation } from '../api/operations.ts'
import { warningsSchema } from '../api/warnings.ts'
import { Failure, validationFailed } from '../errors.ts'
import { type Field, type Form, form, list, optional, type Reading } from '../forms/form.ts'
import { idList } from '../forms/id-list.ts'
import { Type } from '../forms/json-schema.ts'
import { boolean, tagName } from '../forms/rules.ts'
import { addField, type Fields, maxFields } from '../http/form-encoding.ts'
import { tooManyMembers } from '../http/json-reader.ts'
import { Refusal } from '../violations.ts'
import { maxTags } from './link.ts'
import { linkOperations } from './operations.ts'
import { linkSchema, storeLink, updateLink } from './schema.ts'

/** The links that one request may store, change or delete. */
export const maxRows = 1_000
export const maxBytes = 1024 * 1024

/** A row of `POST /links/bulk`: a link's fields, or why it cannot have any. */
export type NewRow = Fields | Failure

const linksField: Field<readonly NewRow[]> = {
  schema: Type.Array(Type.Object({}, { additionalProperties: true, description: 'The fields of a new link.' }), {
    minItems: 1,
    maxItems: maxRows,
    description: 'The links.',
  }),
  required: true,
  acceptsEmpty: false,
  read: (raw) => {
    if (raw === undefined || raw === null) return new Refusal('required')
    if (!Array.isArray(raw)) return new Refusal('not_a_list')
    return raw.length > maxRows ? new Refusal('too_many', { most: maxRows }) : checkedRows(raw.map(newRow))
  },
}

function checkedRows(rows: readonly NewRow[]): readonly NewRow[] | Refusal {
  return rows.length === 0 ? new Refusal('required') : rows
}

function newRow(value: unknown): NewRow {
  return isObject(value) ? value : notAnObject
}

const notAnObject = new Failure('malformed_body', new Refusal('malformed_row.json').at('links').message)

const jsonLinks = form<{ readonly links: readonly NewRow[] }>({ links: linksField })

/** Also reads a `Table`. */
export const linksForm: Form<{ readonly links: readonly NewRow[] }> = {
  ...jsonLinks,
  read: (fields) => (fields.csv instanceof Table ? tableRows(fields.csv) : jsonLinks.read(fields)),
}

/** Returns the rows of a CSV body. Missing cells are empty. */
function tableRows({ rows: [names = [], ...rows] }: Table): Reading<{ readonly links: readonly NewRow[] }> {
  if (names.length > maxFields) throw tooManyMembers
  const columns: Record<string, unknown> = Object.create(null)
  for (const name of names) addField(columns, name, undefined)
  const unusable = storeLink
    .read(columns)
    .violations.filter(({ code }) => code === 'unknown_field' || code === 'not_single')
  if (unusable.length > 0) return { values: {}, violations: unusable }
  if (rows.length === 0) return { values: {}, violations: [new Refusal('required').at('links')] }
  if (rows.length > maxRows) return { values: {}, violations: [new Refusal('too_many', { most: maxRows }).at('links')] }
  const links = rows.map((cells) => {
    const excess = findExcess(cells, names)
    if (excess !== null) return validationFailed([excess.at('csv')])
    return Object.fromEntries(names.map((name, at) => [name.trim(), cells[at] ?? '']))
  })
  return { values: { links }, violations: [] }
}

/** Refuses a row with more cells than names. A cell with several lines was probably closed by a later row's quote. */
export function findExcess(cells: readonly string[], names: readonly string[]): Refusal | null {
  if (cells.length <= names.length) return null
  const counts = { cells: cells.length, names: names.length }
  const at = cells.findIndex((cell) => /[\r\n]/.test(cell))
  return at < 0
    ? new Refusal('malformed_row.cells', counts)
    : new Refusal('malformed_row.lines', { ...counts, cell: at + 1 })
}

const idsField = idList(maxRows, 'links')

const { alias: _, domain_id: __, keep_address: ___, ...settable } = updateLink.fields
export const setForm = form(settable, updateLink.ignored)
const none: readonly string[] = []
const tagsOptions = (description: string) => ({ most: maxTags, description })

const setField: Field<Fields> = {
  schema: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The fields of an update and their values, except the alias and the domain.',
    },
  ),
  required: false,
  acceptsEmpty: false,
  read: (raw) => {
    if (raw === undefined) return {}
    const row = newRow(raw)
    return row instanceof Failure ? new Refusal('malformed_row.json') : row
  },
}

const tagLists = {
  add_tags: list(tagName, tagsOptions('The names of tags to add.'), none),
  remove_tags: list(tagName, tagsOptions('The names of tags to remove. Unknown names are ignored.'), none),
}

export const changeForm = form({ ids: idsField, set: setField, ...tagLists })
/** For the dashboard. */
export const tagChangeForm = form(tagLists)
export const deletionForm = form({ ids: idsField })
export const atomicQuery = form({
  atomic: optional(boolean(Type.Boolean({ description: 'Whether no row is applied if one of them fails.' })), false),
})

const rowSchema = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the row in the request, from 0.' }),
    id: Type.Integer({ minimum: 1, description: 'The id of the link, if the request has ids.' }),
    status: Type.Integer({ description: 'The HTTP status of a request with only this row; 424 if other rows failed.' }),
    data: linkSchema,
    warnings: warningsSchema,
    code: Type.String({ description: 'The error code of a failed row.' }),
    message: Type.String(),
    violations: Type.Array(Type.Object({ field: Type.String(), code: Type.String(), message: Type.String() })),
  },
  { $id: 'BulkRow', required: ['index', 'status'] },
)

const resultSchema = Type.Object(
  {
    data: Type.Array(rowSchema, { description: 'The result of each row, in order.' }),
    meta: Type.Object({
      succeeded: Type.Integer({ minimum: 0 }),
      failed: Type.Integer({ minimum: 0, description: 'The rows with an error of their own.' }),
    }),
  },
  { $id: 'BulkResult' },
)

const { data: linkExample } = linkOperations.show.success.example as { readonly data: object }

const rowsNote =
  'Rows succeed or fail independently, in order, and the response has the status of each. With `atomic=true`, all rows are applied or none. The request is one transaction. Each started 100 rows count as one request for the rate limit.'

function operationOf(
  parts: Pick<Operation, 'id' | 'method' | 'path' | 'summary' | 'refused'> & {
    readonly body: Body
    readonly description: string
    readonly row: object
  },
): Operation & { readonly body: Body } {
  const { row, description, ...operation } = parts
  return {
    ...operation,
    body: { ...operation.body, maxBytes },
    description: `${description} ${rowsNote}`,
    tag: linkOperations.list.tag,
    scope: 'links:write',
    query: atomicQuery,
    headers: ['Idempotency-Key'],
    success: {
      status: 200,
      description: 'The result of each row.',
      schema: resultSchema,
      example: { data: [row], meta: { succeeded: 1, failed: 0 } },
      optionalHeaders: ['Idempotency-Replayed'],
    },
    failures: ['precondition_failed', ...bodyFailures, 'bulk_rejected', ...idempotencyFailures],
  }
}

export const storeLinks = operationOf({
  id: 'storeLinks',
  method: 'POST',
  path: '/links/bulk',
  summary: 'Create many links',
  description:
    'Creates up to 1,000 links from JSON, or from CSV whose first row has the names of fields. Fields that the server assigns are ignored, so an export can be sent back; only a link with a password needs its `redirect_password`.',
  body: {
    name: 'StoreLinks',
    form: linksForm,
    example: { links: [{ url: 'https://acme.com/summer', tags: ['Summer'] }] },
    media: ['application/json', 'text/csv'],
  },
  refused: { links: [] },
  row: { index: 0, status: 201, data: linkExample },
})

export const updateLinks = operationOf({
  id: 'updateLinks',
  method: 'PATCH',
  path: '/links/bulk',
  summary: 'Update many links',
  description:
    'Changes up to 1,000 links in the same way. An error in `set`, `add_tags` or `remove_tags` rejects the whole request.',
  body: {
    name: 'UpdateLinks',
    form: changeForm,
    example: { ids: [1], set: { archived: true }, add_tags: ['Old'], remove_tags: ['Summer'] },
    media: ['application/json'],
  },
  refused: { ids: [] },
  row: { index: 0, id: 1, status: 200, data: linkExample },
})

export const deleteLinks = operationOf({
  id: 'deleteLinks',
  method: 'POST',
  path: '/links/bulk/delete',
  summary: 'Delete many links',
  description: 'Deletes up to 1,000 links.',
  body: { name: 'DeleteLinks', form: deletionForm, example: { ids: [1, 2] } },
  refused: { ids: '' },
  row: { index: 0, id: 1, status: 204 },
})

export const bulkOperations: readonly Operation[] = [storeLinks, updateLinks, deleteLinks]
