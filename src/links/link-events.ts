import type { Described } from '../events/event.ts'
import { type LinkRow, linkLabels, linkOf } from './schema.ts'

const fields = Object.keys(linkLabels) as (keyof typeof linkLabels)[]

/** Describes the events of links. */
export const linkEvents: Described<LinkRow> = {
  record: 'link',
  nameOf: ({ domain_name, alias }) => `${domain_name}/${alias}`,
  valuesOf: (row) => {
    const { redirect_password } = row
    const link = { ...linkOf(row, () => '', row.updated_at), redirect_password }
    return Object.fromEntries(fields.map((field) => [field, link[field]]))
  },
  secrets: ['redirect_password'],
}
