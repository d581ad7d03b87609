/** Uses a client that openapi-typescript generated with its default options. */
import createClient from 'openapi-fetch'
import { baseUrl, change, headers, homepage, invalid, link, links, print } from './common.ts'
import type { paths } from './openapi-typescript.ts'

const { POST, GET, PATCH, DELETE } = createClient<paths>({ baseUrl, headers })

const domain = await POST('/api/v1/domains', { body: { name: 'fetch.example' } })
const stored = await POST('/api/v1/links', { body: link })
const listed = await GET('/api/v1/links', { params: { query: { search: 'summer' } } })
const path = { params: { path: { id: stored.data?.data.id ?? 0 } } }
const updated = await PATCH('/api/v1/links/{id}', { ...path, body: change })
const refused = await PATCH('/api/v1/links/{id}', { ...path, body: invalid })
const deleted = await DELETE('/api/v1/links/{id}', path)
const missing = await GET('/api/v1/links/{id}', path)
const bulk = await POST('/api/v1/links/bulk', { body: { links } })
const ids = [bulk.data?.data[0]?.data?.id ?? 0]
const bulkDeleted = await POST('/api/v1/links/bulk/delete', { body: { ids } })
const domainPath = { params: { path: { id: domain.data?.data.id ?? 0 } } }
const updatedDomain = await PATCH('/api/v1/domains/{id}', { ...domainPath, body: homepage })
const deletedDomain = await DELETE('/api/v1/domains/{id}', domainPath)

const ofLinks = { stored, listed, updated, refused, deleted, missing, bulk, bulkDeleted }
print({ domain, ...ofLinks, updatedDomain, deletedDomain }, ({ response: { status }, data, error }) => ({
  status,
  body: data ?? error,
}))
