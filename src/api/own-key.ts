/** `GET /me` shows the caller's API key. */

import type { Static } from 'typebox'
import { scopes } from '../access/actor.ts'
import { roles } from '../access/roles.ts'
import { found } from '../errors.ts'
import { idSchema, orNull, Type, timeSchema } from '../forms/json-schema.ts'
import { sendJson } from '../http/response.ts'
import { findKey } from '../keys/store.ts'
import type { Db } from '../storage/port.ts'
import type { Operation } from './operations.ts'
import type { Api } from './routes.ts'

const ownKeySchema = Type.Object(
  {
    id: idSchema,
    name: Type.String({ description: 'The key’s name.' }),
    scopes: Type.Array(Type.Enum([...scopes]), { description: 'The permissions of the key. `*` includes all others.' }),
    expires_at: orNull(
      timeSchema('The time when the key expires.'),
      'The time when the key expires. Null if it never expires.',
    ),
    rate_limit: orNull(Type.Integer({ minimum: 1 }), 'Requests per minute. Null if there is no limit.'),
    account: Type.Object({ id: idSchema, name: Type.String() }),
    member: orNull(
      Type.Object({ id: idSchema, name: Type.String(), role: Type.Enum([...roles]) }),
      'The member who created the key. Null if they were removed, or the command line created it.',
    ),
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
  member: { id: 2, name: 'Ana Kovač', role: 'editor' },
}

export const showOwnKey: Operation = {
  id: 'showOwnKey',
  method: 'GET',
  path: '/me',
  tag: { name: 'Keys', description: 'The API key that sends the request, with its permissions.' },
  summary: 'Show your API key',
  description: `Shows the name, scopes and account of the key that sends the request. Any valid key can use it, for example to check that the key works.`,
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
  api.add(showOwnKey, async (exchange, { actor }) => {
    const { account, member, ...key } = found(
      actor.id === null ? undefined : await findKey(db, actor.account, actor.id),
      'key',
    )
    return sendJson(exchange, 200, JSON.stringify({ data: { ...key, rate_limit: rateLimit, account, member } }))
  })
}
