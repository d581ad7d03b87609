import type { Described } from '../events/event.ts'
import { type LinkRow, linkLabels, linkSchema, tagsOf } from './schema.ts'

type Flags = Readonly<Record<string, { readonly type?: string }>>

const fields = Object.keys(linkLabels) as (keyof typeof linkLabels)[]

/** The fields that a row has as 0 or 1. */
const flags = new Set(fields.filter((field) => (linkSchema.properties as Flags)[field]?.type === 'boolean'))

/** Describes the events of links. */
export const linkEvents: Described<LinkRow> = {
  record: 'link',
  nameOf: ({ domain_name, alias }) => `${domain_name}/${alias}`,
  valuesOf: (row) => {
    const values: Record<string, unknown> = {}
    // Half as long as with `Object.fromEntries`, for each link of a batch.
    for (const field of fields) values[field] = flags.has(field) ? row[field] === 1 : row[field]
    values.tags = tagsOf(row)
    return values
  },
  secrets: ['redirect_password'],
}
