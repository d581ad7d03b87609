import { scopes } from '../keys/scope.ts'
import { createKey, type IssuedKey, type Key, listKeys, revokeKey, rotateKey, statusOf } from '../keys/store.ts'
import { accountOf, durationOf, keyNamedBy, lifetimeOf, nameOf, scopesOf } from './arguments.ts'
import { chosenAccount, knownAccount } from './chosen-account.ts'
import { chosenKey } from './chosen-key.ts'
import { type Command, type Given, json, jsonOption, program } from './command.ts'
import { table } from './table.ts'

export const keyCommands = {
  create: {
    summary: 'Issue an API key and print it, this once.',
    synopsis: '--name NAME [--scopes LIST] [--expires DURATION] [--account ID] [--json]',
    details: `  --name NAME          its name in lists, 1 to 255 characters
  --scopes LIST        what it may do, separated by commas (default *, which is everything):
                       ${scopes.join(', ')}
  --expires DURATION   how long it is valid: 30s, 15m, 24h, 90d (default: until it is revoked)
  --account ID         the account it belongs to; may be left out when there is only one
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
  --json         print the records as JSON, with "status": active, expired or revoked`,
    options: { account: { type: 'string' }, ...jsonOption },
    takesOperand: false,
    makesDatabase: false,
    prepare: (given) => {
      const named = accountOf(given)
      return async (db) => {
        const keys = await listKeys(db, named === undefined ? null : await knownAccount(db, named))
        return given.values.json ? json(keys.map(shown)) : keyTable(keys)
      }
    },
  },

  rotate: {
    summary: 'Issue a key to replace another, print it, and let the old one expire.',
    synopsis: 'KEY [--overlap DURATION] [--json]',
    details: `  KEY                  the key to replace: its ID or its name, as "${program} keys list" shows it
  --overlap DURATION   how long the old key stays good: 0s, 30s, 15m, 24h, 90d (default 24h)
  --json               print the whole new record as JSON, with the key as "secret"

The new key gets the lifetime that the old one was issued with. While the old key is good it can be rotated again,
for instance when the new one was lost: that issues one more key, and never lets the old one live longer.`,
    options: { overlap: { type: 'string', default: '24h' }, ...jsonOption },
    takesOperand: 'other',
    makesDatabase: false,
    prepare: (given) => {
      const named = keyNamedBy(given)
      const overlapMs = durationOf(given, 'overlap')
      return async (db) => issued(given, await rotateKey(db, (await chosenKey(db, named)).id, overlapMs))
    },
  },

  revoke: {
    summary: 'End a key. Running servers notice within seconds.',
    synopsis: 'KEY [--json]',
    details: `  KEY      the key to end: its ID or its name, as "${program} keys list" shows it
  --json   print the whole record as JSON`,
    options: jsonOption,
    takesOperand: 'other',
    makesDatabase: false,
    prepare: (given) => {
      const named = keyNamedBy(given)
      return async (db) => {
        const key = await revokeKey(db, (await chosenKey(db, named)).id)
        return given.values.json ? json(shown(key)) : `Key ${key.id} (${key.name}) is revoked.`
      }
    },
  },
} as const satisfies Record<string, Command>

function issued({ values }: Given, { key, secret }: IssuedKey): string {
  return values.json ? json({ ...shown(key), secret }) : secret
}

function shown(key: Key) {
  return { ...key, status: statusOf(key) }
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
