/** Every operation of the API that changes a record stores its events, all in one batch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor } from '../src/access/actor.ts'
import { operations } from '../src/app/api.ts'
import { createKey } from '../src/keys/store.ts'
import { startApp } from './app.ts'
import type { Json } from './client.ts'
import { assertComplete, assertEvents, type Expected, newestEvent, newLink, newName } from './expected-events.ts'
import { fresh, newPlace, type Place } from './links-api.ts'
import { newMember } from './members.ts'

const app = await startApp()

/** What a request needs, and the events that it stores. */
interface Example {
  readonly path: string
  readonly json?: Json
  readonly events: readonly Expected[]
}
type Make = (place: Place) => Promise<Example>

/** Stores a record. */
const stored = (place: Place, kind: string, json: Json = {}) =>
  kind === 'links' ? place.link(json) : place.stored(`/${kind}`, { name: newName() })

/** Adds a member, and then changes something with the key. */
const joined = async (place: Place) => {
  const name = newName()
  const member = await newMember(app.storage, place.account, { name, role: 'editor' })
  await place.link()
  return { ...member, name }
}

/** Returns the example that stores a record. */
const store = (kind: string) => async () => {
  const json = { name: newName() }
  const events: Expected[] = [[`${kind.slice(0, -1)}.created`, json]]
  return { path: `/${kind}`, json, events }
}

/** Returns the example of an update, for both methods. */
const update = (kind: string, json: Json) => async (place: Place) => {
  const record = await stored(place, kind)
  const events: Expected[] = [[`${kind.slice(0, -1)}.updated`, record]]
  return { path: `/${kind}/${record.id}`, json, events }
}

/** Plans an import of one link. */
const planned = async (place: Place) => {
  const { made } = newLink(place)
  const body = `url,short_url\nhttps://acme.com/,${made.short_url}\n`
  const headers = { 'content-type': 'text/csv' }
  const { data } = (await place.send('POST', '/imports', { body, headers })).body
  return { path: `/imports/${data.id}`, made }
}

const examples: Readonly<Record<string, Make>> = {
  applyImport: async (place) => {
    const { path, made } = await planned(place)
    await place.link()
    return {
      path: `${path}/apply`,
      events: [['link.created', made] as const, ['import.applied', { name: 'csv' }] as const],
    }
  },
  undoImport: async (place) => {
    const { path, made } = await planned(place)
    await place.send('POST', `${path}/apply`)
    return {
      path: `${path}/undo`,
      events: [['link.deleted', made] as const, ['import.undone', { name: 'csv' }] as const],
    }
  },
  storeDomain: store('domains'),
  storeSpace: store('spaces'),
  storeTag: store('tags'),
  storeLink: async (place) => {
    const [{ fields, made }, name] = [newLink(place), fresh('New')]
    const json = { ...fields, tags: [name] }
    return { path: '/links', json, events: [['tag.created', { name }] as const, ['link.created', made] as const] }
  },
  updateDomain: update('domains', { homepage_url: 'https://acme.com' }),
  updateSpace: update('spaces', { color: 5 }),
  updateTag: update('tags', { color: 5 }),
  updateLink: update('links', { title: 'New' }),
  deleteDomain: async (place) => {
    const link = await place.link()
    const path = `/domains/${link.domain_id}?links=delete`
    return { path, events: [['domain.deleted', place.domain] as const, ['link.deleted', link] as const] }
  },
  deleteSpace: async (place) => {
    const space = await stored(place, 'spaces')
    const link = await place.link({ space_id: space.id })
    return { path: `/spaces/${space.id}`, events: [['space.deleted', space] as const, ['link.updated', link] as const] }
  },
  deleteTag: async (place) => {
    const tag = await stored(place, 'tags')
    const link = await place.link({ tags: tag.name })
    return { path: `/tags/${tag.id}`, events: [['tag.deleted', tag] as const, ['link.updated', link] as const] }
  },
  deleteLink: async (place) => {
    const link = await place.link()
    return { path: `/links/${link.id}`, events: [['link.deleted', link]] }
  },
  mergeTag: async (place) => {
    const [tag, into] = [await stored(place, 'tags'), await stored(place, 'tags')]
    return { path: `/tags/${tag.id}/merge`, json: { into: into.id }, events: [['tag.merged', tag]] }
  },
  storeLinks: async (place) => {
    const links = [newLink(place), newLink(place)]
    const json = { links: links.map(({ fields }) => fields) }
    return { path: '/links/bulk', json, events: links.map(({ made }) => ['link.created', made]) }
  },
  updateLinks: async (place) => {
    const links = [await place.link(), await place.link()]
    const json = { ids: links.map(({ id }) => id), set: { archived: true } }
    return { path: '/links/bulk', json, events: links.map((link) => ['link.updated', link]) }
  },
  deleteLinks: async (place) => {
    const link = await place.link()
    return { path: '/links/bulk/delete', json: { ids: [link.id] }, events: [['link.deleted', link]] }
  },
  deleteLinkClicks: async (place) => {
    const link = await place.link()
    assert.equal((await app.visit(link.short_url)).status, 302)
    return { path: `/links/${link.id}/clicks`, events: [['link.clicks_deleted', link]] }
  },
  storeAddress: async (place) => {
    const link = await place.link()
    return { path: `/links/${link.id}/addresses`, json: {}, events: [['link.updated', link]] }
  },
  deleteAddress: async (place) => {
    const link = await place.link()
    const address = await place.stored(`/links/${link.id}/addresses`)
    return { path: `/links/${link.id}/addresses/${address.id}`, events: [['link.updated', link]] }
  },
  updateMember: async (place) => {
    const member = await joined(place)
    return { path: `/members/${member.id}`, json: { role: 'viewer' }, events: [['member.updated', member]] }
  },
  removeMember: async (place) => {
    const member = await joined(place)
    const { key } = await createKey(app.storage, createActor({ ...member, kind: 'member', scopes: ['*'] }, null), {
      ...{ name: newName(), scopes: ['*'], lifetimeMs: null },
    })
    await place.link()
    return {
      path: `/members/${member.id}`,
      events: [['member.removed', member] as const, ['key.revoked', key] as const],
    }
  },
  storeInvitation: async () => {
    const json = { role: 'viewer', name: newName() }
    return { path: '/invitations', json, events: [['invitation.created', json]] }
  },
  deleteInvitation: async (place) => {
    const invitation = await place.stored('/invitations', { role: 'viewer', name: newName() })
    return { path: `/invitations/${invitation.id}`, events: [['invitation.deleted', invitation]] }
  },
  undoEvent: async (place) => {
    const link = await place.link()
    return { path: `/events/${(await newestEvent(place)).id}/undo`, events: [['link.deleted', link]] }
  },
  undoEvents: async (place) => {
    const link = await place.link()
    const { batch_id } = await newestEvent(place)
    return { path: '/events/undo', json: { batch_id }, events: [['link.deleted', link]] }
  },
}

/** Both methods of an update have the same example. */
const exampleOf = (id: string) => id.replace(/ByPut$/, '')

/** They change no record. */
const reading = ['planImport', 'proveImport']
const writing = operations.filter(({ id, method }) => method !== 'GET' && !reading.includes(id))
assertComplete([...new Set(writing.map(({ id }) => exampleOf(id)))], examples)

for (const { id, method } of writing) {
  test(`${id} stores its events`, async () => {
    const place = await newPlace(app)
    const { path, json, events } = await (examples[exampleOf(id)] as Make)(place)
    const { id: last, actor } = await newestEvent(place)
    assert.deepEqual([actor.kind, actor.name], ['key', 'test'])
    const { status, text, headers } = await place.send(method, path, json === undefined ? {} : { json })
    assert.ok(status < 300, text)
    const { data } = (await place.send('GET', `/events?sort=asc&after=${last}`)).body
    assertEvents(data, events, { actor, request_id: String(headers['x-request-id']) })
  })
}
