/** Every form of the dashboard that changes a record stores its events, all in one batch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../../src/access/actor.ts'
import { createKey } from '../../src/keys/store.ts'
import { AddressActions } from '../../src/links/address-actions.ts'
import { createInvitation } from '../../src/members/invitations.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, type Owner, signedInMember } from '../dashboard.ts'
import {
  assertComplete,
  assertEvents,
  type Expected,
  nameOf,
  newestEvent,
  newLink,
  newName,
} from '../expected-events.ts'
import { fresh, newPlace } from '../links-api.ts'
import { newMember } from '../members.ts'

const app = await startApp()

/** What a form needs, and the events that it stores. */
interface Example {
  /** The id in the path. */
  readonly id?: number
  /** The id of a further address in the path. */
  readonly addressId?: number
  readonly form?: Form
  readonly events: readonly Expected[]
}
type Make = (owner: Owner) => Promise<Example>

const rows = (...links: Json[]) => Object.fromEntries(links.map(({ id }) => [`row-${id}`, 'on']))

/** Returns the example of a form that stores a record. */
const store =
  (kind: string, others: Form = {}): Make =>
  async () => {
    const form = { name: newName(), ...others }
    return { form, events: [[`${kind}.created`, form]] }
  }

/** Returns the example of a form that changes or deletes a record, which has one link or none. */
const change =
  (type: string, form: Form, ofLink?: string): Make =>
  async ({ stored, link }) => {
    const kind = type.split('.')[0] as string
    const record = await stored(`/${kind}s`, { name: newName() })
    const own = { domain: { domain_id: record.id }, space: { space_id: record.id }, tag: { tags: record.name } }
    const member = ofLink ? [[ofLink, await link(own[kind as 'tag'])] as const] : []
    const events = [[type, record] as const, ...member]
    return { id: record.id, form: type.endsWith('.deleted') ? { ...form, name: record.name } : form, events }
  }

/** Returns the example of a form that changes a link with these fields. */
const changeLink =
  (type: string, fields: Json = {}, form: Form = {}): Make =>
  async ({ link }) => {
    const stored = await link(fields)
    return { id: stored.id, form, events: [[type, stored]] }
  }

/** Returns the example of an action on two links. */
const select =
  (type: string, form: Form, others: readonly Expected[] = []): Make =>
  async ({ link }) => {
    const links = [await link(), await link()]
    const events = links.map((each) => [type, each] as const)
    return { form: { ...rows(...links), confirmed: 'true', ...form }, events: [...events, ...others] }
  }

/** Plans an import of one link. */
async function planImport({ browser, ...place }: Owner) {
  const { fields, made } = newLink(place)
  const text = `url,short_url\n${fields.url},${place.domain.name}/${fields.alias}`
  const { headers } = await browser.post('/app/import', { text })
  return { id: Number(String(headers.location).split('/').at(-1)), made }
}

const examples: Readonly<Record<string, Make>> = {
  '/app/links': async (owner) => {
    const { fields, made } = newLink(owner)
    const name = fresh('New')
    return {
      form: { ...fields, tags: name },
      events: [['link.created', made] as const, ['tag.created', { name }] as const],
    }
  },
  '/app/links/:id': changeLink('link.updated', {}, { title: 'New' }),
  '/app/links/:id/enable': changeLink('link.updated', { disabled: true }),
  '/app/links/:id/disable': changeLink('link.updated'),
  '/app/links/:id/archive': changeLink('link.updated'),
  '/app/links/:id/unarchive': changeLink('link.updated', { archived: true }),
  '/app/links/:id/delete': changeLink('link.deleted'),
  '/app/links/:id/delete (permanently)': changeLink('link.deleted', {}, { permanently: 'true' }),
  '/app/links/:id/delete-statistics': async ({ link }) => {
    const visited = await link()
    assert.equal((await app.visit(visited.short_url)).status, 302)
    return { id: visited.id, events: [['link.clicks_deleted', visited]] }
  },
  '/app/import/:id (apply)': async (owner) => {
    const { id, made } = await planImport(owner)
    const form = { ...(await owner.browser.open(`/app/import/${id}`)).form(`/app/import/${id}`), what: 'apply' }
    return { id, form, events: [['link.created', made] as const, ['import.applied', { name: 'csv' }] as const] }
  },
  '/app/import/:id/apply': async (owner) => {
    const { id, made } = await planImport(owner)
    return { id, events: [['link.created', made] as const, ['import.applied', { name: 'csv' }] as const] }
  },
  '/app/import/:id/undo': async (owner) => {
    const { id, made } = await planImport(owner)
    await owner.browser.post(`/app/import/${id}/apply`)
    return { id, events: [['link.deleted', made] as const, ['import.undone', { name: 'csv' }] as const] }
  },
  '/app/links/:id/addresses': changeLink('link.updated', {}, { alias: fresh('tea') }),
  '/app/links/:id/addresses/:address_id/delete': async ({ account, link }) => {
    const stored = await link()
    const addresses = new AddressActions(app.storage, app.actions.links)
    const { id: addressId } = await addresses.insertion(systemActor(account), stored.id, {})(app.storage)
    return { id: stored.id, addressId, events: [['link.updated', stored]] }
  },
  '/app/links/selected (archive)': select('link.updated', { what: 'archive' }),
  '/app/links/selected (limit)': select('link.updated', { what: 'limit', clicks_limit: '5' }),
  '/app/links/selected (replace)': select('link.updated', { what: 'replace', find: 'acme', replace: 'example' }),
  '/app/links/selected (tag)': select('link.updated', { what: 'tag', add_tags: 'Fair' }, [
    ['tag.created', { name: 'Fair' }],
  ]),
  '/app/links/selected (delete)': select('link.deleted', { what: 'delete' }),
  '/app/links/selected (move)': async (owner) => {
    const space = await owner.stored('/spaces', { name: newName() })
    return select('link.updated', { what: 'move', to: `space-${space.id}` })(owner)
  },
  '/app/domains': store('domain'),
  '/app/domains/:id': change('domain.updated', { homepage_url: 'https://acme.com' }),
  '/app/domains/:id/delete': change('domain.deleted', {}, 'link.deleted'),
  '/app/domains/:id/qr': change('domain.updated', { dark: '#0b5c6b', background: '#fff4e0', margin: '2' }),
  '/app/domains/:id/qr/reset': async (owner) => {
    const { browser, domain } = owner
    await browser.post(`/app/domains/${domain.id}/qr`, { dark: '#0b5c6b', background: '#fff4e0', margin: '2' })
    return { id: domain.id, events: [['domain.updated', domain]] }
  },
  '/app/spaces': store('space', { color: '2' }),
  '/app/spaces/:id': change('space.updated', { color: '5' }),
  '/app/spaces/:id/delete': change('space.deleted', {}, 'link.updated'),
  '/app/tags': store('tag', { color: '2' }),
  '/app/tags/:id': change('tag.updated', { color: '5' }),
  '/app/tags/:id/delete': change('tag.deleted', {}, 'link.updated'),
  '/app/tags/:id/merge': async ({ stored }) => {
    const [tag, into] = [await stored('/tags', { name: newName() }), await stored('/tags', { name: newName() })]
    return { id: tag.id, form: { into: into.name }, events: [['tag.merged', tag]] }
  },
  '/app/history/undo (event)': async (owner) => {
    const link = await owner.link()
    return { form: { event: (await newestEvent(owner)).id }, events: [['link.deleted', link]] }
  },
  '/app/history/undo (batch)': async (owner) => {
    const link = await owner.link()
    return { form: { batch: (await newestEvent(owner)).batch_id }, events: [['link.deleted', link]] }
  },
  '/app/keys': async () => {
    const name = fresh('key')
    return { form: { name, '*': 'true', expires: 'never' }, events: [['key.created', { name }]] }
  },
  '/app/keys/:id/revoke': async ({ account }) => {
    const { key } = await app.issueKey({ account, name: 'old' })
    return { id: key.id, events: [['key.revoked', key]] }
  },
  '/app/people': async () => ({
    form: { role: 'viewer', name: 'Eve' },
    events: [['invitation.created', { name: 'Eve' }]],
  }),
  '/app/people/invitations/:id/revoke': async ({ account }) => {
    const wanted = { role: 'viewer', name: 'Eve', email: null } as const
    const { record } = (await createInvitation(app.storage, systemActor(account), wanted)).invitation
    return { id: record.id, events: [['invitation.deleted', { id: record.id, name: 'Eve' }]] }
  },
  '/app/people/:id': async ({ account }) => {
    const { id } = await newMember(app.storage, account, { name: 'Ben' })
    return { id, form: { role: 'editor' }, events: [['member.updated', { id, name: 'Ben' }]] }
  },
  '/app/people/:id/remove': async ({ account }) => {
    const { id } = await newMember(app.storage, account, { name: 'Ben' })
    const owner = { ...systemActor(account), kind: 'member', id } as const
    const { key } = await createKey(app.storage, owner, { name: 'Tool', scopes: ['*'], lifetimeMs: null })
    return { id, events: [['member.removed', { id, name: 'Ben' }] as const, ['key.revoked', key] as const] }
  },
  '/app/profile': async () => ({ form: { name: 'Anna' }, events: [['member.updated', { name: 'Anna' }]] }),
  '/app/account': async ({ account }) => {
    const form = { name: fresh('Account'), time_zone: 'Europe/Berlin' }
    return { form, events: [['account.updated', { id: account, name: form.name }]] }
  },
}

/** The forms that change no record. */
const reasons: Readonly<Record<string, string>> = {
  '/app/sign-in': 'It starts a session.',
  '/app/sign-in/passkey': 'It starts a session.',
  '/app/profile/passkeys': 'Passkeys belong to a person, not to an account.',
  '/app/profile/passkeys/:id/remove': 'Passkeys belong to a person, not to an account.',
  '/app/sign-out': 'It ends a session.',
  '/app/profile/sessions/:id/end': 'It ends a session.',
  '/app/profile/sessions/end-all': 'It ends sessions.',
  '/app/profile/sessions/end-others': 'It ends sessions.',
  '/app/people/:id/end-sessions': 'It ends sessions.',
  '/app/profile/time-zone': 'The time zone belongs to a person, not to an account.',
  '/app/switch': 'It changes a session.',
  '/app/join': 'Its events are in the account of the invitation, and have the new member as their author.',
  '/app/import': 'It stores a plan.',
  '/app/import/:id/proof': 'It stores what old services respond.',
  '/app/scheme': 'It sets a cookie.',
  '/app/dismiss': 'It sets a cookie.',
  '/app/dismiss-ending': 'It sets a cookie.',
  '/app/domains/:id/check': 'It stores what the server has observed, not a value of the domain.',
}

const forms = app.router.declared.filter(({ method, template }) => method === 'POST' && /^\/app(\/|$)/.test(template))
const templates = forms.map(({ template }) => template)
assertComplete(templates, examples, reasons)

for (const [example, make] of Object.entries(examples)) {
  test(`${example} stores its events`, async () => {
    const place = await newPlace(app)
    const browser = await signedInMember(app, { account: place.account, name: 'Ana' })
    const { id, addressId, form = {}, events } = await make({ ...place, browser })
    const last = (await newestEvent(place)).id
    const path = nameOf(example).replace(':id', String(id)).replace(':address_id', String(addressId))
    const { status, text, headers } = await browser.post(path, form)
    assert.ok(status === 303 || status === 201, text)
    const { data } = (await place.send('GET', `/events?sort=asc&after=${last}`)).body
    const member = data[0]?.actor.id
    assertEvents(data, events, {
      actor: { kind: 'member', id: member, name: 'Ana' },
      request_id: String(headers['x-request-id']),
    })
  })
}
