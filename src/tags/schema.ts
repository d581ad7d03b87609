import { hash } from 'node:crypto'
import type { Static, TString } from 'typebox'
import { change, form, type LabelsOf, optional, required } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timestamps } from '../forms/json-schema.ts'
import { createListQuery } from '../forms/list-query.ts'
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

/** The field labels on pages and in error messages. */
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

export const listTagsQuery = createListQuery(resources.tags)
