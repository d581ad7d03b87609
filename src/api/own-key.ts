/** `GET /me` shows the caller's API key. */
import type { Static } from 'typebox'
import { found } from '../errors.ts'
import { idSchema, Type, timeSchema } from '../forms/json-schema.ts'
import { sendJson } from '../http/response.ts'
import { scopes } from '../keys/scope.ts'
import { findOwnKey } from '../keys/store.ts'
import type { Db } from '../storage/port.ts'
import { type Api, apiPrefix, type Operation } from './operations.ts'

const ownKeySchema = Type.Object(
  {
    id: idSchema,
    name: Type.String({ description: 'What the operator called the key.' }),
    scopes: Type.Array(Type.Enum([...scopes]), { description: 'What the key may do; `*` stands for everything.' }),
    expires_at: Type.Union([timeSchema('When the key expires.'), Type.Null()], {
      description: 'Null if the key is good until it is revoked.',
    }),
    rate_limit: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'Requests a minute; null if there is no limit.',
    }),
    account: Type.Object({ id: idSchema, name: Type.String() }),
  },
  { $id: 'OwnKey', additionalProperties: false },
)

const example: Static<typeof ownKeySchema> = {
  id: 1,
  name: 'ci',
  scopes: ['domains:read', 'spaces:read'],
  expires_at: '2027-02-18T12:00:00.000Z',
  rate_limit: 6000,
  account: { id: 1, name: 'Acme' },
}

export const showOwnKey: Operation = {
  id: 'showOwnKey',
  method: 'GET',
  path: '/me',
  tag: { name: 'Keys', description: 'The key that you send, and what it may do.' },
  summary: 'Show the key that you use',
  description: `Any valid key may ask: to check that it works, or to learn its scopes and its account. \`GET ${apiPrefix}/me\` changes nothing.`,
  scope: null,
  success: {
    status: 200,
    description: 'The key.',
    schema: Type.Object({ data: ownKeySchema }),
    example: { data: example },
  },
  failures: [],
}

/** Adds the operation. `rateLimit` is the number of requests per minute for each key, or null if there is no limit. */
export function ownKeyRoute(api: Api, db: Db, rateLimit: number | null): void {
  api.add(showOwnKey, async (exchange, { caller }) => {
    const { account, ...key } = found(await findOwnKey(db, caller.account, caller.key), 'key')
    return sendJson(exchange, 200, JSON.stringify({ data: { ...key, rate_limit: rateLimit, account } }))
  })
}
