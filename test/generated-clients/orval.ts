/** Uses a client that orval generated with its default options. It uses axios. */
import { baseUrl as baseURL, change, headers, homepage, invalid, link, links, print } from './common.ts'
import * as client from './orval-client.ts'

const options = { baseURL, headers, validateStatus: null }

const domain = await client.storeDomain({ name: 'axios.example' }, options)
const stored = await client.storeLink(link, options)
const { id } = stored.data.data
const listed = await client.listLinks({ search: 'summer' }, options)
const updated = await client.updateLink(id, change, options)
const refused = await client.updateLink(id, invalid, options)
const deleted = await client.deleteLink(id, {}, options)
const missing = await client.showLink(id, options)
const bulk = await client.storeLinks({ links }, {}, options)
const bulkDeleted = await client.deleteLinks({ ids: [bulk.data.data[0]?.data?.id ?? 0] }, {}, options)
const updatedDomain = await client.updateDomain(domain.data.data.id, homepage, options)
const deletedDomain = await client.deleteDomain(domain.data.data.id, {}, options)

const ofLinks = { stored, listed, updated, refused, deleted, missing, bulk, bulkDeleted }
print({ domain, ...ofLinks, updatedDomain, deletedDomain }, ({ status, data: body }) => ({ status, body }))
