/** Every operation, form and command that changes a record stores its events, all in one batch. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { operations } from '../src/app/operations.ts'
import { startApp } from './app.ts'
import { type Change, changes, type Expected, type Prepared, type Site } from './changes.ts'
import type { Json } from './client.ts'
import { commandsWith } from './command-line.ts'
import { Browser, type Page, signedInMember } from './dashboard.ts'
import { newestEvent, newPlace } from './links-api.ts'
import { lowestRole, operationsByScope, pagesByRole, readers } from './operations.ts'

const app = await startApp()
const { location } = app.storage
const { run, say } = commandsWith({
  DATABASE_URL: location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url,
})

const routes = app.router.declared.filter(
  ({ method, template }) => /^\/app(?:\/|$)/.test(template) && method !== 'HEAD',
)
const writing = operations.filter(({ method }) => method !== 'GET')

/** Several changes of one form or command differ by words in parentheses. */
const nameOf = (example: string) => example.replace(/ \(.*/, '')
/** Both methods of an update have the same change. */
const isOperation = (id: string, change: Change) => change.operation === id.replace(/ByPut$/, '')

/** Throws unless these are all names, without others. */
function assertAll(names: readonly string[], known: readonly (string | undefined)[]): void {
  assert.deepEqual([...new Set(known.filter((name) => name !== undefined))].toSorted(), names.toSorted())
}

test('the registry has every operation with its scope, and every page and form with its role', () => {
  assertAll(
    operations.map(({ id }) => id),
    Object.values(operationsByScope).flat(),
  )
  assert.deepEqual(
    routes.filter(({ method, template }) => lowestRole(method, template) === undefined),
    [],
  )
  const declared = routes.map(({ method, template }) => `${method} ${template}`)
  for (const entry of Object.values(pagesByRole).flat()) assert.ok(declared.includes(entry), `${entry} does not exist`)
})

test('the registry has a change or a reason for every operation, form and command', async () => {
  assertAll(
    [...new Set(writing.map(({ id }) => id.replace(/ByPut$/, '')))],
    [...changes.map(({ operation }) => operation), ...Object.keys(readers.operations)],
  )
  assertAll(
    routes.flatMap(({ method, template }) => (method === 'POST' ? template : [])),
    [...changes.map(({ form }) => form && nameOf(form)), ...Object.keys(readers.forms)],
  )
  assertAll(
    Array.from((await say('help')).matchAll(/^ {2}npx waymark (.+?) {2,}\S/gm), ([, name]) => String(name)),
    [...changes.map(({ command }) => command && nameOf(command)), ...Object.keys(readers.commands)],
  )
})

/** Makes a change with `send` in a new account, and compares its events. Each has this author. */
async function check(
  { prepare }: Change,
  author: { readonly kind: string; readonly name: string },
  send: (at: Site, prepared: Prepared) => Promise<string | null>,
): Promise<void> {
  const place = await newPlace(app)
  const signIn = () => signedInMember(app, { account: place.account, name: 'Ana' })
  const browser = author.kind === 'member' ? await signIn() : new Browser(app)
  const at = { ...place, app, browser, say: (line: string) => say(`${line} --account ${place.account}`) }
  const prepared = await prepare(at)
  const { id: last } = await newestEvent(place)
  const request_id = await send(at, prepared)
  const { data } = (await place.send('GET', `/events?sort=asc&after=${last}`)).body
  assertEvents(data, prepared.events)
  for (const event of data) {
    const { id, ...others } = event.actor
    assert.deepEqual([others, event.request_id], [author, request_id])
    assert.equal(typeof id, author.kind === 'command' ? 'object' : 'number')
  }
}

/** Throws unless these are the expected events, in any order, of one change. */
function assertEvents(found: readonly Json[], expected: readonly Expected[]): void {
  const lines = expected.map(([type, { short_url, name }]) => `${type} ${short_url ?? name}`)
  assert.deepEqual(found.map(({ type, record_name }) => `${type} ${record_name}`).toSorted(), lines.toSorted())
  assert.equal(new Set(found.map(({ batch_id }) => batch_id)).size, 1)
  for (const { type, record, record_id, record_name } of found) {
    assert.equal(record, type.split('.')[0])
    const [, { id = record_id }] = expected[lines.indexOf(`${type} ${record_name}`)] as Expected
    assert.equal(record_id, id)
  }
}

/**
 * Throws unless the page after a form says what the history says, and offers to undo it if that is possible. The page of an
 * import shows a report instead.
 */
async function checkNotice({ browser, send }: Site, page: Page): Promise<void> {
  const [event] = (await send('GET', '/events')).body.data
  if (page.heading.startsWith('Import')) return assert.deepEqual(page.notices, [])
  const history = await browser.open('/app/history')
  const [deed = ''] = history.deeds
  const [notice] = page.notices
  assert.ok(notice !== undefined, deed)
  assert.ok(notice.text.toLowerCase().includes(`${deed.replace(/^Ana /, '')}.`.toLowerCase()), `${notice.text} ${deed}`)
  const isReversal = history.text.includes('undoing an earlier change')
  assert.equal(notice.canUndo, event.undoable_until !== null && !isReversal, deed)
}

/** Returns the path with the ids of a change. */
const pathOf = (template: string, { id, address_id }: Prepared) =>
  template.replace(':id', String(id)).replace(':address_id', String(address_id))

for (const { id, method, path } of writing) {
  for (const change of changes.filter((each) => isOperation(id, each))) {
    test(`${id} stores its events`, () =>
      check(change, { kind: 'key', name: 'test' }, async (at, prepared) => {
        const { query = '', json } = prepared
        const request = json === undefined ? {} : { json }
        const { status, text, headers } = await at.send(method, pathOf(path, prepared) + query, request)
        assert.ok(status < 300, text)
        return String(headers['x-request-id'])
      }))
  }
}

for (const change of changes) {
  const { form, command } = change
  if (form !== undefined) {
    test(`${form} stores its events`, () =>
      check(change, { kind: 'member', name: 'Ana' }, async (at, prepared) => {
        const { browser } = at
        const answer = await browser.post(pathOf(nameOf(form), prepared), prepared.fields)
        assert.ok(answer.status === 303 || answer.status === 201, answer.text)
        if (answer.status === 303) await checkNotice(at, await browser.after(answer))
        return String(answer.headers['x-request-id'])
      }))
  }
  if (command !== undefined) {
    test(`waymark ${command} stores its events`, () =>
      check(change, { kind: 'command', name: userInfo().username }, async ({ account }, { line = '', input = '' }) => {
        // These find the account by the key.
        const option = /^keys (?:rotate|revoke)$/.test(command) ? '' : `--account ${account}`
        const words = `${nameOf(command)} ${line} ${option}`
        const { code, stderr } = await run(words, { input: Readable.from([Buffer.from(input)]) })
        assert.equal(code, 0, stderr)
        return null
      }))
  }
}
