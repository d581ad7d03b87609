import type { Described } from '../events/event.ts'
import { flags, linkFields } from './fields.ts'
import { type LinkRow, tagsOf } from './schema.ts'

const fields = Object.keys(linkFields) as (keyof typeof linkFields)[]

/** Describes the events of links. */
export const linkEvents: Described<LinkRow> = {
  record: 'link',
  nameOf: ({ domain_name, alias }) => `${domain_name}/${alias}`,
  valuesOf: (row) => {
    const values: Record<string, unknown> = {}
    // Half as long as with `Object.fromEntries`, for each link of a batch.
    for (const field of fields) values[field] = row[field]
    for (const flag of flags) values[flag] = values[flag] === 1
    values.tags = tagsOf(row)
    return values
  },
  secrets: ['redirect_password'],
}
