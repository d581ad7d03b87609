/** Uses a client that swagger-typescript-api generated with its default options. It throws failures. */
import { Api, type Problem } from './Api.ts'
import { baseUrl, change, headers, homepage, invalid, link, links, print } from './common.ts'

const { api } = new Api({ baseUrl, baseApiParams: { headers } })
const thrown = (failure: Response & { readonly error: Problem }) => ({ ...failure, status: failure.status, data: null })

const domain = await api.storeDomain({ name: 'swagger.example' })
const stored = await api.storeLink(link)
const { id } = stored.data.data
const listed = await api.listLinks({ search: 'summer' })
const updated = await api.updateLink(id, change)
const refused = await api.updateLink(id, invalid).catch(thrown)
const deleted = await api.deleteLink(id)
const missing = await api.showLink(id).catch(thrown)
const bulk = await api.storeLinks({ links })
const bulkDeleted = await api.deleteLinks({ ids: [bulk.data.data[0]?.data?.id ?? 0] })
const updatedDomain = await api.updateDomain(domain.data.data.id, homepage)
const deletedDomain = await api.deleteDomain(domain.data.data.id)

const ofLinks = { stored, listed, updated, refused, deleted, missing, bulk, bulkDeleted }
print({ domain, ...ofLinks, updatedDomain, deletedDomain }, ({ status, data, error }) => ({
  status,
  body: data ?? error,
}))
