import type { Described } from '../events/event.ts'
import { type LinkRow, linkLabels, linkOf } from './schema.ts'

const fields = Object.keys(linkLabels) as (keyof typeof linkLabels)[]

/** Describes the events of links. */
export const linkEvents: Described<LinkRow> = {
  record: 'link',
  nameOf: ({ domain_name, alias }) => `${domain_name}/${alias}`,
  valuesOf: (row) => {
    const link = linkOf(row, () => '', row.updated_at)
    const values: Record<string, unknown> = {}
    // Half as long as with `Object.fromEntries`, for each link of a batch.
    for (const field of fields) values[field] = field === 'redirect_password' ? row[field] : link[field]
    return values
  },
  secrets: ['redirect_password'],
}
