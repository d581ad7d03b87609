/** The fields and records of the further addresses of links. */
import type { Static } from 'typebox'
import { form } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timeSchema } from '../forms/json-schema.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { StoredAddress } from './addresses.ts'
import { linkFields } from './fields.ts'

const { alias, domain_id, exact } = linkFields

/** A further address in a response. */
export const addressSchema = Type.Object(
  {
    id: idSchema,
    domain_id: domain_id.shown,
    alias: alias.shown,
    exact: exact.shown,
    legacy: Type.Boolean({
      description: 'True if an import stored the alias, although the rule of aliases rejects it.',
    }),
    short_url: Type.String({ format: 'uri', description: 'The short URL that visitors open.' }),
    clicks: Type.Integer({
      minimum: 0,
      description: 'Human clicks at this address. They are part of the clicks of the link.',
    }),
    created_at: timeSchema('The time of creation.'),
  },
  { $id: 'Address', additionalProperties: false },
)

export type ShownAddress = Static<typeof addressSchema>

export const storeAddress = form({ alias: alias.store, domain_id: domain_id.store, exact: exact.store }, [
  ...assignedFields,
  'legacy',
  'short_url',
  'clicks',
])

/** Returns an address on a domain with this name for a response. */
export function showAddress(address: StoredAddress, domain: string, shortUrl: ShortUrl): ShownAddress {
  const { id, domain_id, alias, exact, legacy, clicks, created_at } = address
  return { id, domain_id, alias, exact, legacy, short_url: shortUrl(domain, alias), clicks, created_at }
}
