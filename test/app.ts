/**
 * The real app, on a fresh database, listening on a free port: what contract tests talk to.
 */

import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after } from 'node:test'
import { type KeyScope, systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import type { AppOptions } from '../src/app/api.ts'
import { type App, buildApp } from '../src/app/app.ts'
import type { Listener } from '../src/http/listener.ts'
import type { Router } from '../src/http/router.ts'
import { createKey, type IssuedKey, type Key, revokeKey } from '../src/keys/store.ts'
import { listen } from '../src/process/listen.ts'
import { logTo } from '../src/process/log.ts'
import type { Storage, StorageLocation } from '../src/storage/port.ts'
import { checkAnswer } from './answer.ts'
import { type Answer, type Json, type Request, repeatWhileOverloaded, sendRequest } from './client.ts'
import { newStorage } from './engine.ts'
import { exchange } from './raw-socket.ts'
import { type VisitRequest, visit } from './visitors.ts'

export interface StartOptions
  extends Partial<
    Pick<
      AppOptions,
      | 'baseUrl'
      | 'shortUrl'
      | 'staleFor'
      | 'urlSchemes'
      | 'rateLimit'
      | 'historyDays'
      | 'trustProxy'
      | 'maxConnections'
      | 'corsOrigins'
      | 'oidc'
      | 'countryHeader'
      | 'clicksSink'
      | 'proofHosts'
    >
  > {
  /** Where the records are kept; else where the tests of this process keep theirs. */
  readonly engine?: StorageLocation['engine']
  /** Puts something between the app and its database. */
  readonly storage?: (real: Storage) => Storage
  /** The test makes the app fail as it never should; otherwise an error in the log fails the test. */
  readonly expectsBugs?: boolean
}

export interface KeyOptions {
  readonly account?: number
  readonly name?: string
  readonly scopes?: readonly KeyScope[]
  readonly expiresAt?: Date | null
}

/** One line of the log. */
export type LogLine = Readonly<Record<string, unknown>>

/** A running app. It ends with the test, or the file, that started it. */
export interface TestApp {
  /** `http://localhost:<port>` */
  readonly origin: string
  readonly port: number
  /** An account, and a key of it that may do everything. */
  readonly account: number
  readonly key: string
  readonly storage: Storage
  readonly listener: Listener
  /** For routes that the test adds. */
  readonly router: Router
  /** Counts of its requests. */
  readonly measured: App['measured']
  /** Its ops port. */
  readonly opsPort: number
  readonly logs: LogLine[]
  createAccount(): Promise<number>
  createKey(options?: KeyOptions): Promise<string>
  /** The whole record, for tests that need its id. */
  issueKey(options?: KeyOptions): Promise<IssuedKey>
  revokeKey(key: Pick<Key, 'id' | 'account_id'>): Promise<void>
  /** Sends a request with the app's own key, unless told otherwise, and checks the rules of every response. */
  send(method: string, path: string, request?: Request): Promise<Answer>
  /** Stores a record with the API, at a path such as `/links`. By default with the app's own key. */
  stored(path: string, json?: Json, key?: string): Promise<Json>
  /** Asks the redirect server for a URL such as `http://go.acme.com/summer`, as a browser does. */
  visit(url: string, request?: VisitRequest): Promise<Answer>
  /** The port of the redirect server. */
  readonly visitPort: number
  readonly directory: App['directory']
  readonly actions: App['actions']
  /** Writes bytes to a connection of its own, and returns the answers that came back until it closed. */
  raw(...parts: readonly (string | Buffer)[]): Promise<Answer[]>
  close(): Promise<void>
}

/** More than any test sends in a minute. */
const plenty = 1_000_000

export async function startApp(options: StartOptions = {}): Promise<TestApp> {
  const closers: (() => unknown)[] = []
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= (async () => {
      for (const closer of closers.reverse()) await closer()
    })()
    return closed
  }
  after(close)

  const storage = await newStorage((work) => void closers.push(work), options.engine)
  const logs: LogLine[] = []
  if (!options.expectsBugs) closers.push(() => assert.deepEqual(logs.filter(isBug), []))
  const { rateLimit = plenty, baseUrl = null, trustProxy = false, maxConnections = plenty } = options
  const app = buildApp({
    storage: options.storage?.(storage) ?? storage,
    logger: logTo({ write: (line) => void logs.push(JSON.parse(line)) }, 'info'),
    baseUrl,
    rateLimit,
    trustProxy,
    maxConnections,
    shortUrl: options.shortUrl ?? 'http://{domain}:3080',
    staleFor: options.staleFor ?? 3_600,
    urlSchemes: options.urlSchemes ?? [],
    corsOrigins: options.corsOrigins ?? [],
    oidc: options.oidc ?? null,
    opsHosts: ['localhost'],
    geoipDb: null,
    clicksRetention: 730,
    historyDays: options.historyDays ?? 400,
    clicksSink: options.clicksSink ?? null,
    countryHeader: options.countryHeader ?? null,
    proofHosts: options.proofHosts ?? new Map(),
  })
  app.begin()
  closers.push(() => app.close())
  await app.load()
  const { api, redirect, ops } = app.listeners
  for (const { server } of [api, redirect, ops]) closers.push(() => new Promise((resolve) => server.close(resolve)))
  const { port } = await listen(api.server, { host: '127.0.0.1', port: 0, prefix: '' })
  const { port: visitPort } = await listen(redirect.server, { host: '127.0.0.1', port: 0, prefix: 'REDIRECT_' })
  const { port: opsPort } = await listen(ops.server, { host: '127.0.0.1', port: 0, prefix: 'OPS_' })
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  closers.push(() => agent.destroy())

  const account = (await createAccount(storage, 'Acme')).id
  const issueKey = ({ account: owner = account, name = 'test', scopes = ['*'], expiresAt = null }: KeyOptions = {}) =>
    createKey(storage, systemActor(owner), {
      name,
      scopes,
      lifetimeMs: expiresAt && expiresAt.getTime() - Date.now(),
    })
  const { secret: key } = await issueKey()
  const limits = rateLimit > 0
  const send: TestApp['send'] = async (method, path, request = {}) => {
    const ask = () => sendRequest({ agent, port, method, path }, { key, ...request })
    const answer = request.seesOverload ? await ask() : await repeatWhileOverloaded(ask, method)
    checkAnswer({ method, path, hasKey: request.key !== null, limits }, answer)
    return answer
  }
  return {
    origin: `http://localhost:${port}`,
    port,
    account,
    key,
    storage,
    listener: api,
    router: app.router,
    measured: app.measured,
    opsPort,
    visitPort,
    directory: app.directory,
    actions: app.actions,
    visit: (url, request) => repeatWhileOverloaded(() => visit(visitPort, url, request)),
    logs,
    createAccount: async () => (await createAccount(storage, 'Another')).id,
    createKey: async (wanted) => (await issueKey(wanted)).secret,
    issueKey,
    revokeKey: async ({ id, account_id }) => void (await revokeKey(storage, systemActor(account_id), id)),
    send,
    stored: async (path, json = {}, own = key) => {
      const { status, body, text } = await send('POST', `/api/v1${path}`, { json, key: own })
      assert.equal(status, 201, text)
      return body.data
    },
    raw: (...parts) => exchange(port, parts),
    close,
  }
}

function isBug(line: LogLine): boolean {
  return Number(line.level) >= 50
}
