import type { Static } from 'typebox'
import { operationsOf } from '../api/operations.ts'
import { change, clearable, form, optional, type Rule, required } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timestamps } from '../forms/json-schema.ts'
import { listQueryOf } from '../forms/list-query.ts'
import { integerUpTo } from '../forms/rules.ts'
import { resources } from '../resources.ts'

const reference: Rule<number> = {
  schema: idSchema,
  number: true,
  parse: (text, label) => integerUpTo(Number.MAX_SAFE_INTEGER, text, label),
}

const text: Rule<string> = { schema: Type.String({ minLength: 1 }), parse: (value) => value }

export const bookmarkSchema = Type.Object(
  {
    id: idSchema,
    domain_id: idSchema,
    space_id: Type.Union([idSchema, Type.Null()]),
    title: Type.String(),
    note: Type.Union([Type.String(), Type.Null()]),
    ...timestamps,
  },
  { $id: 'Bookmark', additionalProperties: false },
)

export type Bookmark = Static<typeof bookmarkSchema>

export const storeBookmark = form(
  {
    domain_id: required(reference),
    space_id: optional(reference, null),
    title: required(text),
    note: optional(text, null),
  },
  assignedFields,
)

export const updateBookmark = form(
  { space_id: clearable(reference), title: change(text), note: clearable(text) },
  assignedFields,
)

export const listBookmarksQuery = listQueryOf(resources.bookmarks, { space_id: change(reference) })

const example: Bookmark = {
  id: 1,
  domain_id: 1,
  space_id: null,
  title: 'Summer',
  note: 'Read this',
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
}

export const bookmarkOperations = operationsOf('bookmarks', {
  description: 'Made up by a test.',
  record: bookmarkSchema,
  listQuery: listBookmarksQuery,
  store: { form: storeBookmark, failures: [], example: { domain_id: 1, title: 'Summer' }, refused: { domain_id: 'x' } },
  update: { form: updateBookmark, description: 'Changes a bookmark.', example: { title: 'Winter' } },
  example,
})
