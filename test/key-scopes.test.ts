/** Every operation with keys of every scope. The table is written out by hand, so a new operation needs an entry. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyScope } from '../src/access/actor.ts'
import { operations } from '../src/app/api.ts'
import { startApp } from './app.ts'
import { furnish } from './dashboard-records.ts'
import { assertComplete } from './expected-events.ts'

const app = await startApp()
const words = (text: string) => text.trim().split(/\s+/)

/** The operations of the API by the scope that they need. */
const operationsOf: Readonly<Record<string, readonly string[]>> = {
  'domains:read': ['listDomains', 'showDomain'],
  'domains:write': ['storeDomain', 'updateDomainByPut', 'updateDomain', 'deleteDomain'],
  'spaces:read': ['listSpaces', 'showSpace'],
  'spaces:write': ['storeSpace', 'updateSpaceByPut', 'updateSpace', 'deleteSpace'],
  'tags:read': ['listTags', 'showTag'],
  'tags:write': ['storeTag', 'updateTagByPut', 'updateTag', 'deleteTag', 'mergeTag'],
  'links:read': words('listLinks showLink exportLinks showLinkQr explainLink listAddresses showAddress'),
  'links:write': words(
    'storeLink updateLinkByPut updateLink deleteLink storeLinks updateLinks deleteLinks deleteLinkClicks storeAddress deleteAddress',
  ),
  'stats:read': ['showStats'],
  'events:read': ['listEvents', 'showEvent'],
  'members:read': ['listMembers', 'showMember', 'listInvitations', 'showInvitation'],
  'members:write': words('updateMemberByPut updateMember removeMember storeInvitation deleteInvitation'),
  'imports:read': ['listImports', 'showImport', 'listImportRows'],
  // They also need links:write.
  'imports:write': ['planImport', 'applyImport', 'proveImport', 'undoImport'],
  // They look at the record of the event.
  any: ['undoEvent', 'undoEvents', 'showOwnKey'],
}
const everyScope = [...Object.keys(operationsOf).filter((scope) => scope !== 'any'), '*'] as KeyScope[]

test('operations are forbidden for keys without the scope of the table', async () => {
  const needed = new Map(Object.entries(operationsOf).flatMap(([scope, ids]) => ids.map((id) => [id, scope] as const)))
  assertComplete(
    operations.map(({ id }) => id),
    Object.fromEntries(needed),
  )
  const keys = await Promise.all(
    everyScope.map(async (scope) => [scope, await app.createKey({ scopes: [scope] })] as const),
  )
  const cases = keys.flatMap(([scope, key]) => operations.map((operation) => ({ ...operation, scope, key })))
  for (const { scope, key, id, method, path } of cases) {
    const sent = method === 'GET' || method === 'DELETE' ? {} : { json: {} }
    const answer = await app.send(method, `/api/v1${path.replace(/:(address_)?id/g, '99999')}`, { key, ...sent })
    const wanted = needed.get(id) ?? ''
    const isAlone = wanted === 'imports:write' && scope === wanted
    const isForbidden = (![scope, 'any'].includes(wanted) && scope !== '*') || isAlone
    assert.equal(answer.status === 403, isForbidden, `${scope}: ${id} ${answer.status}`)
    const lacking = isAlone ? 'links:write' : wanted
    if (isForbidden) assert.equal(answer.body.message, `The API key lacks the scope ${lacking}.`)
  }
})

test('undoing by the API needs the write scope of the record', async () => {
  const place = await furnish(app)
  await place.stored('/tags', { name: 'Summer' })
  for (const kind of ['links', 'spaces', 'tags', 'domains']) {
    const [{ id }] = (await place.send('GET', `/events?record=${kind.slice(0, -1)}`)).body.data
    for (const scope of everyScope) {
      const key = await app.createKey({ account: place.account, scopes: [scope] })
      const { status } = await place.send('POST', `/events/${id}/undo`, { key })
      assert.equal(status === 403, scope !== '*' && scope !== `${kind}:write`, `${scope}: ${kind}`)
    }
  }
})
