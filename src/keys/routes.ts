import { found } from '../api/envelopes.ts'
import type { Api } from '../api/routes.ts'
import { sendJson } from '../http/answer.ts'
import type { Db } from '../storage/port.ts'
import { showOwnKey } from './schema.ts'
import { findOwnKey } from './store.ts'

/** `GET /me`: the key that asks. `rateLimit` is what each key may send in a minute; null if there is no limit. */
export function ownKeyRoute(api: Api, db: Db, rateLimit: number | null): void {
  api.add(showOwnKey, async (exchange, { caller }) => {
    const { id, name, scopes, expires_at, account } = found(await findOwnKey(db, caller.account, caller.key), 'key')
    const data = { id, name, scopes, expires_at, rate_limit: rateLimit, account }
    return sendJson(exchange, 200, JSON.stringify({ data }))
  })
}
