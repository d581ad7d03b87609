/**
 * Uses a client that openapi-typescript generated with its default options. Prints what the server did as one JSON
 * object. `URL` and `KEY` name the server and an API key.
 */
import createClient from 'openapi-fetch'
import type { paths } from './openapi-typescript.ts'

const { URL: baseUrl = '', KEY = '' } = process.env
const { POST, GET, PATCH, DELETE } = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${KEY}` } })

const domain = await POST('/api/v1/domains', { body: { name: 'fetch.example' } })
const stored = await POST('/api/v1/links', { body: { url: 'https://acme.com/summer', alias: 'summer' } })
if (domain.data === undefined || stored.data === undefined)
  throw new Error(JSON.stringify([domain.error, stored.error]))

const domainPath = { params: { path: { id: domain.data.data.id } } }
const path = { params: { path: { id: stored.data.data.id } } }
const listed = await GET('/api/v1/links', { params: { query: { search: 'summer' } } })
const updated = await PATCH('/api/v1/links/{id}', {
  ...path,
  body: { title: 'Sale', disabled: true, redirect_status: 301, clicks_limit: null },
})
const refused = await PATCH('/api/v1/links/{id}', { ...path, body: { url: 'acme.com' } })
const deleted = await DELETE('/api/v1/links/{id}', path)
const missing = await GET('/api/v1/links/{id}', path)
const updatedDomain = await PATCH('/api/v1/domains/{id}', { ...domainPath, body: { homepage_url: 'https://acme.com' } })
const deletedDomain = await DELETE('/api/v1/domains/{id}', domainPath)
const listedDomains = await GET('/api/v1/domains')

const answers = {
  domain,
  stored,
  listed,
  updated,
  refused,
  deleted,
  missing,
  updatedDomain,
  deletedDomain,
  listedDomains,
}
const printed = Object.entries(answers).map(([name, { response, data, error }]) => [
  name,
  { status: response.status, body: data ?? error },
])
process.stdout.write(JSON.stringify(Object.fromEntries(printed)))
