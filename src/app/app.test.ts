import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { Clicks } from '../analytics/clicks.ts'
import { Overload } from '../http/overload.ts'
import { logTo } from '../process/log.ts'
import { Directory } from '../redirect/directory.ts'
import { buildApp } from './app.ts'

test('writes pending clicks even if other services fail to close', async (t) => {
  const app = buildApp({
    storage: await newStorage((work) => t.after(work)),
    logger: logTo({ write: () => true }, 'info'),
    baseUrl: null,
    rateLimit: 0,
    trustProxy: false,
    maxConnections: 10,
    shortUrl: 'http://{domain}:3080',
    staleFor: 3_600,
    urlSchemes: [],
    corsOrigins: [],
    oidc: null,
    opsHosts: [],
    geoipDb: null,
    clicksRetention: 0,
    historyDays: 400,
    clicksSink: null,
    countryHeader: null,
    proofHosts: new Map(),
  })
  const failure = new Error('cannot close')
  for (const service of [Overload, Directory]) t.mock.method(service.prototype, 'close', () => Promise.reject(failure))
  const closed = t.mock.method(Clicks.prototype, 'close')
  await assert.rejects(app.close(), failure)
  assert.equal(closed.mock.callCount(), 1)
})
