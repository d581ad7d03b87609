import type { Static } from 'typebox'
import { change, form, type LabelsOf, optional, type Rule, required } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timestamps } from '../forms/json-schema.ts'
import { createListQuery } from '../forms/list-query.ts'
import { color, colorSchema } from '../forms/rules.ts'
import { parseBoundedText } from '../lib/text.ts'
import { resources } from '../resources.ts'

/** In code points. */
const maxNameLength = 255

const nameSchema = Type.String({
  minLength: 1,
  maxLength: maxNameLength,
  description: 'The space’s name, which need not be unique.',
})

const spaceName: Rule<string> = {
  schema: nameSchema,
  parse: (text) => parseBoundedText(text, maxNameLength),
}

/** A space in the database and in responses. */
export const spaceSchema = Type.Object(
  { id: idSchema, name: nameSchema, color: colorSchema, ...timestamps },
  { $id: 'Space', additionalProperties: false },
)

export type Space = Static<typeof spaceSchema>

export const storeSpace = form({ name: required(spaceName), color: optional(color, 1) }, assignedFields)

/** The field labels on pages and in error messages. */
export const spaceLabels = { name: 'Name', color: 'Color' } as const satisfies LabelsOf<typeof storeSpace>

/** Not derived from `storeSpace`, because a rename must not change the color. */
export const updateSpace = form({ name: change(spaceName), color: change(color) }, assignedFields)

export const listSpacesQuery = createListQuery(resources.spaces)
