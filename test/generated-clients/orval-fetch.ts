/**
 * Uses a client that orval generated for fetch. Prints what the server did as one JSON object. `KEY` is an API key.
 */
import {
  deleteDomain,
  deleteLink,
  listDomains,
  listLinks,
  showLink,
  storeDomain,
  storeLink,
  updateDomain,
  updateLink,
} from './orval.ts'

const options = { headers: { authorization: `Bearer ${process.env.KEY}` } }

const domain = await storeDomain({ name: 'orval.example' }, options)
const stored = await storeLink({ url: 'https://acme.com/summer', alias: 'summer' }, options)
if (domain.status !== 201 || stored.status !== 201) throw new Error(JSON.stringify([domain, stored]))

const { id: domainId } = domain.data.data
const { id } = stored.data.data
const listed = await listLinks({ search: 'summer' }, options)
const updated = await updateLink(
  id,
  { title: 'Sale', disabled: true, redirect_status: 301, clicks_limit: null },
  options,
)
const refused = await updateLink(id, { url: 'acme.com' }, options)
const deleted = await deleteLink(id, options)
const missing = await showLink(id, options)
const updatedDomain = await updateDomain(domainId, { homepage_url: 'https://acme.com' }, options)
const deletedDomain = await deleteDomain(domainId, {}, options)
const listedDomains = await listDomains({}, options)

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
const printed = Object.entries(answers).map(([name, { status, data }]) => [name, { status, body: data }])
process.stdout.write(JSON.stringify(Object.fromEntries(printed)))
