import { hash } from 'node:crypto'
import type { Static, TString } from 'typebox'
import { bodyFailures, type Operation, operationsOf } from '../api/operations.ts'
import { change, form, type LabelsOf, optional, required } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timestamps } from '../forms/json-schema.ts'
import { listQueryOf } from '../forms/list-query.ts'
import { color, colorSchema, integer, tagName } from '../forms/rules.ts'
import { shownVersion } from '../lib/record-version.ts'
import { resources } from '../resources.ts'
import type { Versioned } from '../storage/records.ts'

/** A tag in the database and in responses. */
export const tagSchema = Type.Object(
  {
    id: idSchema,
    name: tagName.schema as TString,
    color: colorSchema,
    links: Type.Integer({ minimum: 0, description: 'The number of links with the tag, including archived ones.' }),
    ...timestamps,
  },
  { $id: 'Tag', additionalProperties: false },
)

export type Tag = Static<typeof tagSchema>

const assigned = [...assignedFields, 'links'] as const

export const storeTag = form({ name: required(tagName), color: optional(color, 1) }, assigned)

/** The labels of the fields on pages and in their error messages. */
export const tagLabels = { name: 'Name', color: 'Color' } as const satisfies LabelsOf<typeof storeTag>

/** Not derived from `storeTag`, because a rename must not change the color. */
export const updateTag = form({ name: change(tagName), color: change(color) }, assigned)

/** Returns the tag for a response, with a version that changes with the number of its links. */
export function shownTag({ record, version }: Versioned<Tag>): Versioned<Tag> {
  return { record, version: shownVersion(version, hash('sha1', String(record.links), 'base64url').slice(0, 12)) }
}

export const mergeTagForm = form({
  into: required({ ...integer({ description: 'The id of the tag that the links get instead.' }), number: true }),
})

const example = {
  id: 1,
  name: 'Summer',
  color: 3,
  links: 0,
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
}

export const tagOperations = operationsOf('tags', {
  description: 'Words that describe links. A link has up to 20 tags.',
  record: tagSchema,
  listQuery: listQueryOf(resources.tags),
  store: {
    form: storeTag,
    failures: ['name_taken'],
    example: { name: 'Summer', color: 3 },
    refused: { name: 'Summer, sale', color: '9' },
  },
  update: {
    form: updateTag,
    failures: ['name_taken'],
    description: 'Changes the name or color of a tag. Its links have the new name immediately.',
    example: { name: 'Summer 2026', color: 3 },
  },
  example,
})

export const mergeTag: Operation = {
  id: 'mergeTag',
  method: 'POST',
  path: '/tags/:id/merge',
  tag: tagOperations.show.tag,
  summary: 'Merge a tag into another',
  description:
    'Gives the links of this tag the tag `into`, deletes this tag, and returns the remaining one. Links that have both keep one.',
  scope: 'tags:write',
  headers: ['If-Match', 'If-None-Match'],
  body: { name: 'MergeTag', form: mergeTagForm, example: { into: 2 } },
  refused: { into: '0' },
  success: {
    status: 200,
    description: 'The remaining tag.',
    schema: Type.Object({ data: tagSchema }),
    example: { data: { ...example, id: 2, links: 12 } },
    headers: ['ETag'],
  },
  failures: ['not_found', 'precondition_failed', ...bodyFailures],
}
