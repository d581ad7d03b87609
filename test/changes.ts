/** All changes that store events, with what the API, the dashboard and the command line send for them. */
import assert from 'node:assert/strict'
import { createActor, systemActor } from '../src/access/actor.ts'
import { createKey } from '../src/keys/store.ts'
import { createInvitation } from '../src/members/invitations.ts'
import type { TestApp } from './app.ts'
import type { Json } from './client.ts'
import type { Browser, Form } from './dashboard.ts'
import { rows } from './dashboard-links.ts'
import { fresh, newestEvent, newName, type Place } from './links-api.ts'
import { newMember } from './members.ts'

/** The type of an event, and its record. A record that the change stores has no id yet. */
export type Expected = readonly [type: string, record: Json]

/** An account in which a change is made. */
export interface Site extends Place {
  readonly app: TestApp
  /** The session of an owner. */
  readonly browser: Browser
  /** Runs a command that must succeed. Returns its output. */
  say(line: string): Promise<string>
}

/** What each door sends for one change, and the events that it stores. */
export interface Prepared {
  readonly events: readonly Expected[]
  /** The values of the parameters in paths. */
  readonly id?: number
  readonly address_id?: number
  /** The query of the operation, with its question mark. */
  readonly query?: string
  readonly json?: Json
  readonly fields?: Form
  /** The words after the name of the command. */
  readonly line?: string | number
  readonly input?: string
}

/** A change of records. It is named after an operation, a form and a command. */
export interface Change {
  readonly operation?: string
  readonly form?: string
  readonly command?: string
  /** Stores what the change needs. */
  readonly prepare: (at: Site) => Promise<Prepared>
}

/** Returns the fields of a new link on a place's domain, and the link that they create. */
function newLink({ domain }: Pick<Place, 'domain'>) {
  const fields = { url: 'https://acme.com/', alias: fresh('new') }
  return { fields, made: { short_url: `http://${domain.name}:3080/${fields.alias}` } }
}

/** Plans the import of one link. */
async function planImport(at: Place) {
  const { fields, made } = newLink(at)
  const body = `url,short_url\n${fields.url},${made.short_url}\n`
  const { data } = (await at.send('POST', '/imports', { body, headers: { 'content-type': 'text/csv' } })).body
  return { id: Number(data.id), made }
}

/** Adds a member with a key. */
async function joined({ app, account }: Site) {
  const name = newName()
  const { id } = await newMember(app.storage, account, { name, role: 'editor' })
  const actor = createActor({ account, id, name, kind: 'member', scopes: ['*'] }, null)
  const { key } = await createKey(app.storage, actor, { name: newName(), scopes: ['*'], lifetimeMs: null })
  return { member: { id, name }, key }
}

/** The three changes of domains, spaces or tags. A deleted record has a link. */
function changesOf(kind: 'domain' | 'space' | 'tag', ofLink: string): Change[] {
  const title = `${kind[0]?.toUpperCase()}${kind.slice(1)}`
  const home = `/app/${kind}s`
  const stored = (at: Place) => at.stored(`/${kind}s`, { name: newName() })
  const [json, options] =
    kind === 'domain' ? [{ homepage_url: 'https://acme.com' }, '--homepage-url acme.com'] : [{ color: 5 }, '--color 5']
  return [
    {
      ...{ operation: `store${title}`, form: home, command: `${kind}s create` },
      prepare: async () => {
        const name = newName()
        const fields = kind === 'domain' ? { name } : { name, color: '2' }
        return { json: { name }, fields, line: name, events: [[`${kind}.created`, { name }]] }
      },
    },
    {
      ...{ operation: `update${title}`, form: `${home}/:id`, command: `${kind}s update` },
      prepare: async (at) => {
        const record = await stored(at)
        const fields = Object.fromEntries(Object.entries(json).map(([name, value]) => [name, String(value)]))
        const events: Expected[] = [[`${kind}.updated`, record]]
        return { id: record.id, json, fields, line: `${record.id} ${options}`, events }
      },
    },
    {
      ...{ operation: `delete${title}`, form: `${home}/:id/delete`, command: `${kind}s delete` },
      prepare: async (at) => {
        const record = await stored(at)
        const link = await at.link(kind === 'tag' ? { tags: record.name } : { [`${kind}_id`]: record.id })
        const own = kind === 'domain' ? { query: '?links=delete', line: `${record.id} --yes --links delete` } : {}
        const events: Expected[] = [
          [`${kind}.deleted`, record],
          [ofLink, link],
        ]
        return { id: record.id, fields: { name: record.name }, line: `${record.id} --yes`, ...own, events }
      },
    },
  ]
}

/** Returns a preparation that stores a link with these fields. */
const withLink =
  (type: string, { link = {}, ...sent }: Omit<Prepared, 'events'> & { readonly link?: Json } = {}, options = '') =>
  async (at: Site): Promise<Prepared> => {
    const stored = await at.link(link)
    return { id: stored.id, line: `${stored.short_url} ${options}`, ...sent, events: [[type, stored]] }
  }

/** Returns a preparation that stores two links, and selects them in the list. */
const withLinks =
  (type: string, fields: Form, json: Json = {}, others: readonly Expected[] = []) =>
  async (at: Site): Promise<Prepared> => {
    const links = [await at.link(), await at.link()]
    return {
      fields: { ...rows(...links), confirmed: 'true', ...fields },
      json: { ids: links.map(({ id }) => id), ...json },
      events: [...links.map((link) => [type, link] as const), ...others],
    }
  }

const ofLinks: readonly Change[] = [
  {
    ...{ operation: 'storeLink', form: '/app/links', command: 'links create' },
    prepare: async (at) => {
      const [{ fields, made }, tag] = [newLink(at), fresh('New')]
      return {
        json: { ...fields, tags: [tag] },
        fields: { ...fields, tags: tag },
        line: `${fields.url} --alias ${fields.alias} --tag ${tag}`,
        events: [
          ['link.created', made],
          ['tag.created', { name: tag }],
        ],
      }
    },
  },
  {
    ...{ operation: 'updateLink', form: '/app/links/:id', command: 'links update' },
    prepare: withLink('link.updated', { json: { title: 'New' }, fields: { title: 'New' } }, '--title New'),
  },
  { form: '/app/links/:id/enable', prepare: withLink('link.updated', { link: { disabled: true } }) },
  { form: '/app/links/:id/disable', prepare: withLink('link.updated') },
  { form: '/app/links/:id/archive', prepare: withLink('link.updated') },
  { form: '/app/links/:id/unarchive', prepare: withLink('link.updated', { link: { archived: true } }) },
  {
    ...{ operation: 'deleteLink', form: '/app/links/:id/delete', command: 'links delete' },
    prepare: withLink('link.deleted', {}, '--yes'),
  },
  {
    form: '/app/links/:id/delete (permanently)',
    prepare: withLink('link.deleted', { fields: { permanently: 'true' } }),
  },
  {
    ...{ operation: 'deleteLinkClicks', form: '/app/links/:id/delete-statistics' },
    prepare: async (at) => {
      const link = await at.link()
      assert.equal((await at.app.visit(link.short_url)).status, 302)
      return { id: link.id, events: [['link.clicks_deleted', link]] }
    },
  },
  {
    ...{ operation: 'storeAddress', form: '/app/links/:id/addresses', command: 'links add-address' },
    prepare: withLink('link.updated', { json: {}, fields: { alias: fresh('tea') } }),
  },
  {
    operation: 'deleteAddress',
    form: '/app/links/:id/addresses/:address_id/delete',
    command: 'links delete-address',
    prepare: async (at) => {
      const link = await at.link()
      const { id: address_id, short_url } = await at.stored(`/links/${link.id}/addresses`)
      return { id: link.id, address_id, line: `${short_url} --yes`, events: [['link.updated', link]] }
    },
  },
  {
    operation: 'storeLinks',
    prepare: async (at) => {
      const links = [newLink(at), newLink(at)]
      const json = { links: links.map(({ fields }) => fields) }
      return { json, events: links.map(({ made }) => ['link.created', made]) }
    },
  },
  {
    ...{ operation: 'updateLinks', form: '/app/links/selected (archive)' },
    prepare: withLinks('link.updated', { what: 'archive' }, { set: { archived: true } }),
  },
  {
    operation: 'deleteLinks',
    form: '/app/links/selected (delete)',
    prepare: withLinks('link.deleted', { what: 'delete' }),
  },
  {
    form: '/app/links/selected (limit)',
    prepare: withLinks('link.updated', { what: 'limit', clicks_limit: '5' }),
  },
  {
    form: '/app/links/selected (replace)',
    prepare: withLinks('link.updated', { what: 'replace', find: 'acme', replace: 'example' }),
  },
  {
    form: '/app/links/selected (tag)',
    prepare: withLinks('link.updated', { what: 'tag', add_tags: 'Fair' }, {}, [['tag.created', { name: 'Fair' }]]),
  },
  {
    form: '/app/links/selected (move)',
    prepare: async (at) => {
      const space = await at.stored('/spaces', { name: newName() })
      return withLinks('link.updated', { what: 'move', to: `space-${space.id}` })(at)
    },
  },
]

const imported = { name: 'csv' }

const applied = async (at: Site): Promise<Prepared> => {
  const { id, made } = await planImport(at)
  return { id, line: id, events: [['link.created', made] as const, ['import.applied', imported] as const] }
}

const ofImports: readonly Change[] = [
  { operation: 'applyImport', form: '/app/import/:id/apply', command: 'move apply', prepare: applied },
  {
    form: '/app/import/:id (apply)',
    prepare: async (at) => {
      const prepared = await applied(at)
      const path = `/app/import/${prepared.id}`
      return { ...prepared, fields: { ...(await at.browser.open(path)).form(path), what: 'apply' } }
    },
  },
  {
    ...{ operation: 'undoImport', form: '/app/import/:id/undo', command: 'move undo' },
    prepare: async (at) => {
      const { id, made } = await planImport(at)
      await at.send('POST', `/imports/${id}/apply`)
      const events: Expected[] = [
        ['link.deleted', made],
        ['import.undone', imported],
      ]
      return { id, line: `${id} --yes`, events }
    },
  },
]

const ofPeople: readonly Change[] = [
  {
    ...{ operation: 'updateMember', form: '/app/people/:id', command: 'members role' },
    prepare: async (at) => {
      const { member } = await joined(at)
      const role = { role: 'viewer' }
      const line = `${member.id} --role viewer`
      return { id: member.id, json: role, fields: role, line, events: [['member.updated', member]] }
    },
  },
  {
    ...{ operation: 'removeMember', form: '/app/people/:id/remove', command: 'members remove' },
    prepare: async (at) => {
      const { member, key } = await joined(at)
      const events: Expected[] = [
        ['member.removed', member],
        ['key.revoked', key],
      ]
      return { id: member.id, line: `${member.id} --yes`, events }
    },
  },
  {
    ...{ operation: 'storeInvitation', form: '/app/people', command: 'invitations create' },
    prepare: async () => {
      const invited = { role: 'viewer', name: newName() }
      const line = `--role viewer --name ${invited.name}`
      return { json: invited, fields: invited, line, events: [['invitation.created', { name: invited.name }]] }
    },
  },
  {
    operation: 'deleteInvitation',
    form: '/app/people/invitations/:id/revoke',
    command: 'invitations revoke',
    prepare: async ({ app, account }) => {
      const invited = { role: 'viewer', name: newName(), email: null } as const
      const { id } = (await createInvitation(app.storage, systemActor(account), invited)).invitation.record
      return { id, line: id, events: [['invitation.deleted', { id, name: invited.name }]] }
    },
  },
  {
    form: '/app/profile',
    prepare: async () => ({ fields: { name: 'Anna' }, events: [['member.updated', { name: 'Anna' }]] }),
  },
]

const ofAccounts: readonly Change[] = [
  {
    form: '/app/account',
    prepare: async ({ account: id }) => {
      const name = fresh('Account')
      return { fields: { name, time_zone: 'Europe/Berlin' }, events: [['account.updated', { id, name }]] }
    },
  },
  {
    ...{ form: '/app/keys', command: 'keys create' },
    prepare: async () => {
      const name = fresh('key')
      const fields = { name, '*': 'true', expires: 'never' }
      return { fields, line: `--name ${name}`, events: [['key.created', { name }]] }
    },
  },
  {
    command: 'keys rotate',
    prepare: async ({ app, account }) => {
      const { id, name } = (await app.issueKey({ account, name: fresh('key') })).key
      return { line: name, events: [['key.rotated', { id, name }] as const, ['key.created', { name }] as const] }
    },
  },
  {
    ...{ form: '/app/keys/:id/revoke', command: 'keys revoke' },
    prepare: async ({ app, account }) => {
      const { key } = await app.issueKey({ account, name: fresh('key') })
      return { id: key.id, line: key.name, events: [['key.revoked', key]] }
    },
  },
  {
    ...{ operation: 'undoEvent', form: '/app/history/undo (event)', command: 'undo' },
    prepare: async (at) => {
      const link = await at.link()
      const { id } = await newestEvent(at)
      return { id, fields: { event: String(id) }, line: id, events: [['link.deleted', link]] }
    },
  },
  {
    ...{ operation: 'undoEvents', form: '/app/history/undo (batch)', command: 'undo (batch)' },
    prepare: async (at) => {
      const link = await at.link()
      const { id, batch_id } = await newestEvent(at)
      const events: Expected[] = [['link.deleted', link]]
      return { json: { batch_id }, fields: { batch: batch_id }, line: `${id} --batch`, events }
    },
  },
  {
    command: 'import',
    prepare: async (at) => {
      const [domain, tag] = [
        await at.stored('/domains', { name: newName() }),
        await at.stored('/tags', { name: newName() }),
      ]
      const { short_url } = await at.link({ domain_id: domain.id, tags: tag.name })
      const input = await at.say('export')
      await at.say(`domains delete ${domain.id} --links delete --yes`)
      await at.say(`tags delete ${tag.id} --yes`)
      const created = [domain, tag].map(({ name }, index) => [`${['domain', 'tag'][index]}.created`, { name }] as const)
      return { input, events: [...created, ['link.created', { short_url }]] }
    },
  },
]

const qr = { dark: '#0b5c6b', background: '#fff4e0', margin: '2' }

/** Each operation, form and command has at least one, unless `operations.ts` says that it changes no record. */
export const changes: readonly Change[] = [
  ...changesOf('domain', 'link.deleted'),
  ...changesOf('space', 'link.updated'),
  ...changesOf('tag', 'link.updated'),
  {
    ...{ operation: 'mergeTag', form: '/app/tags/:id/merge', command: 'tags merge' },
    prepare: async (at) => {
      const [tag, into] = [await at.stored('/tags', { name: newName() }), await at.stored('/tags', { name: newName() })]
      const line = `${tag.id} --into ${into.id} --yes`
      return { id: tag.id, json: { into: into.id }, fields: { into: into.name }, line, events: [['tag.merged', tag]] }
    },
  },
  {
    form: '/app/domains/:id/qr',
    prepare: async ({ domain }) => ({ id: domain.id, fields: qr, events: [['domain.updated', domain]] }),
  },
  {
    form: '/app/domains/:id/qr/reset',
    prepare: async ({ browser, domain }) => {
      await browser.post(`/app/domains/${domain.id}/qr`, qr)
      return { id: domain.id, events: [['domain.updated', domain]] }
    },
  },
  ...ofLinks,
  ...ofImports,
  ...ofPeople,
  ...ofAccounts,
]
