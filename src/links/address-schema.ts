/** The fields and records of the further addresses of links. */

import type { Static } from 'typebox'
import {
  type Body,
  bodyFailures,
  describePage,
  idempotencyFailures,
  type ListOperation,
  type Operation,
} from '../api/operations.ts'
import { form, optional } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timeSchema } from '../forms/json-schema.ts'
import { type PageQuery, pageConflicts, pageFields, pageSize } from '../forms/list-query.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { maxAddresses, type StoredAddress } from './addresses.ts'
import { linkFields } from './fields.ts'
import { linkOperations } from './operations.ts'

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

/** Returns an address for a response. */
export function showAddress(address: StoredAddress, shortUrl: ShortUrl): ShownAddress {
  const { id, domain_id, domain_name, alias, exact, legacy, clicks, created_at } = address
  return { id, domain_id, alias, exact, legacy, short_url: shortUrl(domain_name ?? '', alias), clicks, created_at }
}

const example: ShownAddress = {
  id: 2,
  domain_id: 1,
  alias: 'Sommer',
  exact: false,
  legacy: false,
  short_url: 'https://go.acme.com/Sommer',
  clicks: 12,
  created_at: '2026-11-20T12:00:00.000Z',
}

const conditions = ['If-Match', 'If-None-Match'] as const
const success = {
  status: 200,
  description: 'The address.',
  schema: Type.Object({ data: addressSchema }),
  example: { data: example },
  headers: ['ETag'],
} as const

const ofLink = { tag: linkOperations.show.tag, path: '/links/:id/addresses' }
const ofAddress = { ...ofLink, path: '/links/:id/addresses/:address_id', headers: conditions }

/** The operations on the further addresses of a link. */
export const addressOperations = {
  list: {
    ...ofLink,
    id: 'listAddresses',
    method: 'GET',
    summary: 'List the addresses of a link',
    description: `Lists the further addresses of a link in pages, newest first by default. A link has a main address, which is its domain and alias, and up to ${maxAddresses} more, on any domain of the account. It works in the same way at each of them.`,
    scope: 'links:read',
    query: form<PageQuery>(
      {
        ...pageFields([], 'The field to sort by. Ids are in the order of creation.'),
        per_page: optional(pageSize, 25),
      },
      [],
      pageConflicts,
    ),
    headers: conditions,
    refused: { per_page: '20', sort_by: 'created_at' },
    success: describePage(
      'addresses',
      'address',
      { record: addressSchema, example },
      { path: 'links/1/addresses', perPage: 25 },
    ),
    failures: ['not_found', 'precondition_failed', 'validation_failed'],
  } as ListOperation<PageQuery>,
  show: {
    ...ofAddress,
    id: 'showAddress',
    method: 'GET',
    summary: 'Show an address of a link',
    description: 'Shows one of the further addresses of a link.',
    scope: 'links:read',
    success,
    failures: ['not_found', 'precondition_failed'],
  } as Operation,
  store: {
    ...ofLink,
    id: 'storeAddress',
    method: 'POST',
    summary: 'Add an address to a link',
    description: `Adds a further address to a link, at which visitors are redirected immediately, and within a second on every other node. Without \`domain_id\`, it is on the domain of the link. Without \`alias\`, Waymark generates one. A link has at most ${maxAddresses} further addresses. The \`ETag\` of the link stays the same.`,
    scope: 'links:write',
    body: { name: 'StoreAddress', form: storeAddress, example: { alias: 'Sommer' } },
    refused: { alias: 'two words' },
    headers: ['Idempotency-Key'],
    success: {
      ...success,
      status: 201,
      description: 'The new address.',
      headers: ['Location', 'ETag', 'Idempotency-Replayed'],
    },
    failures: ['not_found', 'alias_taken', ...bodyFailures, ...idempotencyFailures],
  } as Operation & { readonly body: Body },
  delete: {
    ...ofAddress,
    id: 'deleteAddress',
    method: 'DELETE',
    summary: 'Delete an address of a link',
    description:
      'Deletes one of the further addresses of a link, which is free immediately. Its clicks still count for the link. For 30 days, undoing the event of the link restores it. A body is ignored.',
    scope: 'links:write',
    success: { status: 204, description: 'The address is deleted.' },
    failures: ['not_found', 'precondition_failed'],
  } as Operation,
}
