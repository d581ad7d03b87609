import { StartupFailure } from '../errors.ts'
import { scopes } from '../keys/scope.ts'
import { createKey, type IssuedKey, type Key, listKeys, revokeKey, rotateKey, statusOf } from '../keys/store.ts'
import type { Db } from '../storage/port.ts'
import { chooseAccount, existingAccount } from './accounts.ts'
import {
  accountId,
  duration,
  flag,
  keyReference,
  lifetime,
  optional,
  program,
  recordName,
  required,
  scopeList,
  WrongUse,
  withDefault,
} from './arguments.ts'
import { recordCommand } from './command.ts'
import { json, table } from './output.ts'

const keyOperand = (action: string) =>
  required('KEY', `the key to ${action}: its ID or its name, as "${program} keys list" shows it`, keyReference)

export const keyCommands = {
  create: recordCommand({
    summary: 'Issue an API key and print it. It is not shown again.',
    arguments: {
      name: required('NAME', 'its name in lists, 1 to 255 characters', recordName),
      scopes: withDefault(
        'LIST',
        `permissions, separated by commas (default *, which includes all):\n${scopes.join(', ')}`,
        '*',
        scopeList,
      ),
      expires: optional(
        'DURATION',
        'how long it is valid: 30s, 15m, 24h, 90d (default: until it is revoked)',
        lifetime,
      ),
      account: optional('ID', 'its account; optional if there is only one', accountId),
      json: flag('print the whole record as JSON, with the key as "secret"'),
    },
    run: async (db, { name, scopes, expires: lifetimeMs = null, account, json: isJson }) =>
      formatIssued(
        await createKey(db, { name, scopes, lifetimeMs, account: await chooseAccount(db, account) }),
        isJson,
      ),
  }),

  list: recordCommand({
    summary: 'List the keys, without their secrets.',
    arguments: {
      account: optional('ID', 'only this account', accountId),
      json: flag('print the records as JSON, with "status": active, expired or revoked'),
    },
    run: async (db, { account, json: isJson }) => {
      const keys = await listKeys(db, account === undefined ? null : await existingAccount(db, account))
      return isJson ? json(keys.map(withStatus)) : keyTable(keys)
    },
  }),

  rotate: recordCommand({
    summary: 'Issue a replacement for a key, print it, and let the old key expire.',
    arguments: {
      operand: keyOperand('replace'),
      overlap: withDefault(
        'DURATION',
        'how long the old key stays valid: 0s, 30s, 15m, 24h, 90d (default 24h)',
        '24h',
        duration,
      ),
      json: flag('print the whole new record as JSON, with the key as "secret"'),
    },
    notes: `The new key gets the lifetime that the old one was issued with. While the old key is valid it can be rotated again,
for instance if the new key is lost. Each rotation issues another key and never extends the old one.`,
    run: async (db, { operand, overlap, json: isJson }) =>
      formatIssued(await rotateKey(db, (await chooseKey(db, operand)).id, overlap), isJson),
  }),

  revoke: recordCommand({
    summary: 'Revoke a key. Running servers notice within seconds.',
    arguments: { operand: keyOperand('revoke'), json: flag('print the whole record as JSON') },
    run: async (db, { operand, json: isJson }) => {
      const key = await revokeKey(db, (await chooseKey(db, operand)).id)
      return isJson ? json(withStatus(key)) : `Key ${key.id} (${key.name}) is revoked.`
    },
  }),
}

/** Returns the key with this ID or name, active keys first. Throws `StartupFailure` or, for several, `WrongUse`. */
async function chooseKey(db: Db, reference: number | string): Promise<Key> {
  const keys = (await listKeys(db, null)).filter(({ id, name }) => reference === id || reference === name)
  const active = keys.filter((key) => statusOf(key) === 'active')
  const [key, ...others] = active.length > 0 ? active : keys
  if (key === undefined) {
    const which = typeof reference === 'number' ? `no key ${reference}` : 'no key with that name'
    throw new StartupFailure(`There is ${which}. "${program} keys list" shows the keys.`)
  }
  if (others.length === 0) return key
  const ids = [key, ...others].map(({ id }) => id).join(', ')
  throw new WrongUse(`More than one key is called ${key.name}. Use one of their IDs instead: ${ids}.`)
}

function formatIssued({ key, secret }: IssuedKey, isJson: boolean): string {
  return isJson ? json({ ...withStatus(key), secret }) : secret
}

function withStatus(key: Key) {
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
