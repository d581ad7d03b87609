/** Every command that changes a record stores its events, all in one batch. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { Json } from '../../test/client.ts'
import { newPlace } from '../../test/command-line.ts'
import { assertComplete, assertEvents, type Expected, nameOf, newLink, newName } from '../../test/expected-events.ts'
import { fresh } from '../../test/links-api.ts'
import { newMember } from '../../test/members.ts'
import { newBench } from '../../test/processes.ts'

const { storage, say, run, json } = await newPlace(newBench())

/** A command line after its name, its standard input, and the events that it stores. */
interface Example {
  readonly line: string
  readonly input?: string
  readonly events: readonly Expected[]
}
type Make = () => Promise<Example>

const domain = await json('domains create go.acme.com')

/** Adds a member. */
const joined = async () => {
  const name = newName()
  return { ...(await newMember(storage, 1, { name, role: 'editor' })), name }
}

/** Stores and returns a record. */
const stored = (kind: string): Promise<Json> => json(`${kind}s create ${newName()}`)
const link = (options = ''): Promise<Json> => json(`links create acme.com ${options}`)

/** Plans the import of a new link. */
const planned = async () => {
  const { fields, made } = newLink({ domain })
  const input = Readable.from([Buffer.from(`url,alias\n${fields.url},${fields.alias}\n`)])
  const { id } = JSON.parse((await run(`move plan - --domain-map '*=${domain.name}' --json`, { input })).stdout)
  return { id, made }
}
const imported = { name: 'csv' }

const create =
  (kind: string): Make =>
  async () => {
    const name = newName()
    return { line: name, events: [[`${kind}.created`, { name }]] }
  }

const update =
  (kind: string, options: string): Make =>
  async () => {
    const record = await stored(kind)
    return { line: `${record.id} ${options}`, events: [[`${kind}.updated`, record]] }
  }

/** Returns the example of a deletion of a record with a link. */
const remove =
  (kind: string, ofLink: string, options = ''): Make =>
  async () => {
    const record = await stored(kind)
    const member = await link(`--${kind} ${record.name}`)
    return {
      line: `${record.id} --yes ${options}`,
      events: [[`${kind}.deleted`, record] as const, [ofLink, member] as const],
    }
  }

const history = (): Promise<Json[]> => json('history --limit 1000')
const key = (): Promise<Json> => json(`keys create --name ${fresh('key')}`)

const examples: Readonly<Record<string, Make>> = {
  'keys create': async () => {
    const name = fresh('key')
    return { line: `--name ${name}`, events: [['key.created', { name }]] }
  },
  'keys rotate': async () => {
    const { id, name } = await key()
    return { line: name, events: [['key.rotated', { id, name }] as const, ['key.created', { name }] as const] }
  },
  'keys revoke': async () => {
    const { id, name } = await key()
    return { line: name, events: [['key.revoked', { id, name }]] }
  },
  'domains create': create('domain'),
  'domains update': update('domain', '--homepage-url acme.com'),
  'domains delete': remove('domain', 'link.deleted', '--links delete'),
  'spaces create': create('space'),
  'spaces update': update('space', '--color 5'),
  'spaces delete': remove('space', 'link.updated'),
  'tags create': create('tag'),
  'tags update': update('tag', '--color 5'),
  'tags delete': remove('tag', 'link.updated'),
  'tags merge': async () => {
    const [tag, into] = [await stored('tag'), await stored('tag')]
    return { line: `${tag.id} --into ${into.id} --yes`, events: [['tag.merged', tag]] }
  },
  'links create': async () => {
    const [{ fields, made }, name] = [newLink({ domain }), fresh('New')]
    const line = `${fields.url} --alias ${fields.alias} --tag ${name}`
    return { line, events: [['link.created', made] as const, ['tag.created', { name }] as const] }
  },
  'links update': async () => {
    const record = await link()
    return { line: `${record.short_url} --title New`, events: [['link.updated', record]] }
  },
  'links add-address': async () => {
    const record = await link()
    return { line: record.short_url, events: [['link.updated', record]] }
  },
  'links delete-address': async () => {
    const record = await link()
    const { short_url } = await json(`links add-address ${record.short_url}`)
    return { line: `${short_url} --yes`, events: [['link.updated', record]] }
  },
  'links delete': async () => {
    const record = await link()
    return { line: `${record.short_url} --yes`, events: [['link.deleted', record]] }
  },
  'move apply': async () => {
    const { id, made } = await planned()
    return { line: String(id), events: [['link.created', made] as const, ['import.applied', imported] as const] }
  },
  'move undo': async () => {
    const { id, made } = await planned()
    await say(`move apply ${id}`)
    return { line: `${id} --yes`, events: [['link.deleted', made] as const, ['import.undone', imported] as const] }
  },
  'members role': async () => {
    const member = await joined()
    return { line: `${member.id} --role viewer`, events: [['member.updated', member]] }
  },
  'members remove': async () => {
    const member = await joined()
    return { line: `${member.id} --yes`, events: [['member.removed', member]] }
  },
  'invitations create': async () => {
    const name = newName()
    return { line: `--role viewer --name ${name}`, events: [['invitation.created', { name }]] }
  },
  'invitations revoke': async () => {
    const name = newName()
    const { id } = JSON.parse((await run(`invitations create --role viewer --name ${name} --json`)).stdout)
    return { line: String(id), events: [['invitation.deleted', { id, name }]] }
  },
  undo: async () => {
    const record = await link()
    return { line: String((await history())[0].id), events: [['link.deleted', record]] }
  },
  'undo (batch)': async () => {
    const record = await link()
    return { line: `${(await history())[0].id} --batch`, events: [['link.deleted', record]] }
  },
  import: async () => {
    const [home, tag] = [await stored('domain'), await stored('tag')]
    const record = await link(`--domain ${home.id} --tag ${tag.name}`)
    const input = await say('export')
    await say(`domains delete ${home.id} --links delete --yes`)
    await say(`tags delete ${tag.id} --yes`)
    const gone = { domain: home.name, tag: tag.name }
    const events = Object.entries(gone).map(([kind, name]) => [`${kind}.created`, { name }] as const)
    return { line: '', input, events: [...events, ['link.created', { short_url: record.short_url }]] }
  },
}

const reading = [
  ...['domains list', 'spaces list', 'tags list', 'keys list', 'accounts list', 'links list', 'links show'],
  ...['links addresses', 'links explain', 'move list', 'move show', 'move rows'],
  ...['oidc check', 'members list', 'invitations list'],
  ...['links export', 'links qr', 'stats', 'history', 'backup', 'export', 'export clicks', 'completion'],
]

/** The commands that change no record of an account. */
const reasons: Readonly<Record<string, string>> = {
  ...Object.fromEntries(reading.map((name) => [name, 'It reads.'])),
  start: 'It starts the server.',
  'accounts create': 'The history of an account begins after it.',
  'login-link': 'It makes a sign-in link.',
  'members forget': 'It removes a name from events.',
  'move plan': 'It stores no link.',
  'move proof': 'It stores responses of other services.',
  migrate: 'It changes the schema.',
  restore: 'It replaces the database together with its events.',
}

const listed = (await say('help')).matchAll(/^ {2}npx waymark (.+?) {2,}\S/gm)
const names = Array.from(listed, ([, name]) => String(name))
assertComplete(names, examples, reasons)

for (const [example, make] of Object.entries(examples)) {
  test(`waymark ${example} stores its events`, async () => {
    const { line, input = '', events } = await make()
    const [last] = await history()
    const { code, stderr } = await run(`${nameOf(example)} ${line}`, { input: Readable.from([Buffer.from(input)]) })
    assert.equal(code, 0, stderr)
    const found = (await history()).filter(({ id }: Json) => id > last.id)
    assertEvents(found, events, { actor: { kind: 'command', id: null, name: userInfo().username }, request_id: null })
  })
}
