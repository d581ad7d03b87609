import { createKey, type IssuedKey, type Key, listKeys, revokeKey, rotateKey } from '../keys/store.ts'
import { accountOf, durationOf, keyIdOf, lifetimeOf, nameOf, scopesOf } from './arguments.ts'
import { chosenAccount, knownAccount } from './chosen-account.ts'
import { type Command, type Given, json, jsonOption } from './command.ts'
import { table } from './table.ts'

export const keyCommands = {
  create: {
    summary: 'Issue an API key, and print it: once, and never again.',
    synopsis: '--name NAME [--scopes LIST] [--expires DURATION] [--account ID] [--json]',
    details: `  --name NAME          what people call it, 1 to 255 characters
  --scopes LIST        domains:read, domains:write, spaces:read, spaces:write or * (default *),
                       separated by commas
  --expires DURATION   how long it is good: 30s, 15m, 24h, 90d (default: until it is revoked)
  --account ID         whose key it is; may be left out when there is one account
  --json               print the whole record as JSON, with the key as "secret"`,
    options: {
      name: { type: 'string' },
      scopes: { type: 'string' },
      expires: { type: 'string' },
      account: { type: 'string' },
      ...jsonOption,
    },
    takesOperand: false,
    makesDatabase: false,
    prepare: (given) => {
      const wanted = { name: nameOf(given), scopes: scopesOf(given), lifetimeMs: lifetimeOf(given) }
      const named = accountOf(given)
      return async (db) => {
        const account = await chosenAccount(db, named)
        return issued(given, await createKey(db, { ...wanted, account }))
      }
    },
  },

  list: {
    summary: 'List the keys, without their secrets.',
    synopsis: '[--account ID] [--json]',
    details: `  --account ID   only the keys of this account
  --json         print the records as JSON`,
    options: { account: { type: 'string' }, ...jsonOption },
    takesOperand: false,
    makesDatabase: false,
    prepare: (given) => {
      const named = accountOf(given)
      return async (db) => {
        const keys = await listKeys(db, named === undefined ? null : await knownAccount(db, named))
        return given.values.json ? json(keys) : keyTable(keys)
      }
    },
  },

  rotate: {
    summary: 'Issue a key like another, print it, and let the old one expire.',
    synopsis: 'ID [--overlap DURATION] [--json]',
    details: `  ID                   the key to replace, as "waymark keys list" shows it
  --overlap DURATION   how long the old key stays good: 0s, 30s, 15m, 24h, 90d (default 24h)
  --json               print the whole new record as JSON, with the key as "secret"

The new key lives as long as the old one was issued for. While the old key is good it can be rotated again,
say when the new one was lost: that issues one more, and never puts off the end of the old one.`,
    options: { overlap: { type: 'string', default: '24h' }, ...jsonOption },
    takesOperand: true,
    makesDatabase: false,
    prepare: (given) => {
      const id = keyIdOf(given)
      const overlapMs = durationOf(given, 'overlap')
      return async (db) => issued(given, await rotateKey(db, id, overlapMs))
    },
  },

  revoke: {
    summary: 'End a key. Servers that run notice within seconds.',
    synopsis: 'ID [--json]',
    details: `  ID       the key to end, as "waymark keys list" shows it
  --json   print the whole record as JSON`,
    options: jsonOption,
    takesOperand: true,
    makesDatabase: false,
    prepare: (given) => {
      const id = keyIdOf(given)
      return async (db) => {
        const key = await revokeKey(db, id)
        return given.values.json ? json(key) : `Key ${key.id} (${key.name}) is revoked.`
      }
    },
  },
} as const satisfies Record<string, Command>

function issued({ values }: Given, { key, secret }: IssuedKey): string {
  return values.json ? json({ ...key, secret }) : secret
}

function keyTable(keys: readonly Key[]): string {
  const lines = keys.map((key) => [
    String(key.id),
    String(key.account_id),
    key.name,
    `${key.first_characters}…${key.last_characters}`,
    statusOf(key),
    key.scopes.join(','),
    key.created_at,
    key.expires_at ?? 'never',
    key.last_used_at ?? 'never',
  ])
  return table([['ID', 'ACCOUNT', 'NAME', 'KEY', 'STATUS', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'], ...lines])
}

function statusOf(key: Key): string {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? 'expired' : 'active'
}
