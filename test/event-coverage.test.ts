/** Every operation of the API that changes something stores its events, all in one batch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '../src/app/api.ts'
import { startApp } from './app.ts'
import type { Json } from './client.ts'
import { fresh, newPlace, type Place } from './links-api.ts'

const app = await startApp()

/** What a request needs, and the types of the events that it stores. */
interface Example {
  readonly path: string
  readonly json?: Json
  readonly types: readonly string[]
}

const named = () => ({ name: `${fresh('n')}.example` })

/** Returns the example of an update, for both methods. */
const update = (kind: string, json: Json) => async (place: Place) => {
  const record = kind === 'links' ? await place.link() : await place.stored(`/${kind}`, named())
  return { path: `/${kind}/${record.id}`, json, types: [`${kind.slice(0, -1)}.updated`] }
}

const store = (kind: string, json: () => Json) => async () => {
  return { path: `/${kind}`, json: json(), types: [`${kind.slice(0, -1)}.created`] }
}

const remove = (kind: string) => async (place: Place) => {
  const record = kind === 'links' ? await place.link() : await place.stored(`/${kind}`, named())
  return { path: `/${kind}/${record.id}`, types: [`${kind.slice(0, -1)}.deleted`] }
}

const examples: Readonly<Record<string, (place: Place) => Promise<Example>>> = {
  storeDomain: store('domains', named),
  storeSpace: store('spaces', named),
  storeTag: store('tags', named),
  storeLink: async () => {
    const json = { url: 'https://acme.com', tags: [fresh('New')] }
    return { path: '/links', json, types: ['tag.created', 'link.created'] }
  },
  updateDomain: update('domains', { homepage_url: 'https://acme.com' }),
  updateSpace: update('spaces', { color: 5 }),
  updateTag: update('tags', { color: 5 }),
  updateLink: update('links', { title: 'New' }),
  deleteDomain: async (place) => {
    const { domain_id } = await place.link()
    return { path: `/domains/${domain_id}?links=delete`, types: ['domain.deleted', 'link.deleted'] }
  },
  deleteSpace: async (place) => {
    const { id } = await place.stored('/spaces', named())
    await place.link({ space_id: id })
    return { path: `/spaces/${id}`, types: ['space.deleted', 'link.updated'] }
  },
  deleteTag: async (place) => {
    const { id, name } = await place.stored('/tags', named())
    await place.link({ tags: name })
    return { path: `/tags/${id}`, types: ['tag.deleted', 'link.updated'] }
  },
  deleteLink: remove('links'),
  mergeTag: async (place) => {
    const [{ id }, into] = [await place.stored('/tags', named()), await place.stored('/tags', named())]
    return { path: `/tags/${id}/merge`, json: { into: into.id }, types: ['tag.merged'] }
  },
  storeLinks: async () => ({
    path: '/links/bulk',
    json: { links: [{ url: 'https://acme.com' }, { url: 'https://acme.com' }] },
    types: ['link.created', 'link.created'],
  }),
  updateLinks: async (place) => {
    const ids = [(await place.link()).id, (await place.link()).id]
    return { path: '/links/bulk', json: { ids, set: { archived: true } }, types: ['link.updated', 'link.updated'] }
  },
  deleteLinks: async (place) => {
    return { path: '/links/bulk/delete', json: { ids: [(await place.link()).id] }, types: ['link.deleted'] }
  },
  deleteLinkClicks: async (place) => {
    const link = await place.link()
    assert.equal((await app.visit(link.short_url)).status, 302)
    return { path: `/links/${link.id}/clicks`, types: ['link.clicks_deleted'] }
  },
  undoEvent: async (place) => {
    await place.link()
    const [{ id }] = (await place.send('GET', '/events')).body.data
    return { path: `/events/${id}/undo`, types: ['link.deleted'] }
  },
  undoEvents: async (place) => {
    await place.link()
    const [{ batch_id }] = (await place.send('GET', '/events')).body.data
    return { path: '/events/undo', json: { batch_id }, types: ['link.deleted'] }
  },
}

for (const { id, method } of operations.filter((operation) => operation.method !== 'GET')) {
  test(`${id} stores its events`, async () => {
    const place = await newPlace(app)
    const example = examples[id.replace(/ByPut$/, '')]
    assert.ok(example, `${id} has no example`)
    const { path, json, types } = await example(place)
    const [last] = (await place.send('GET', '/events')).body.data
    const { status, text } = await place.send(method, path, json === undefined ? {} : { json })
    assert.ok(status < 300, text)
    const { data } = (await place.send('GET', `/events?sort=asc&after=${last.id}`)).body
    assert.deepEqual(data.map(({ type }: Json) => type).toSorted(), types.toSorted())
    assert.equal(new Set(data.map(({ batch_id }: Json) => batch_id)).size, 1)
    assert.ok(data.every(({ actor }: Json) => actor.kind === 'key' && actor.name === 'test'))
  })
}
