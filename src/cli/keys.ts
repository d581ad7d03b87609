import { scopes } from '../access/actor.ts'
import { StartupFailure } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import { createKey, type IssuedKey, type Key, keyStatus, listKeys, revokeKey, rotateKey } from '../keys/store.ts'
import { textWarnings } from '../names/suspicious-values.ts'
import type { Db } from '../storage/port.ts'
import { program } from '../version.ts'
import { chooseAccount, existingAccount, operator } from './accounts.ts'
import {
  accountId,
  duration,
  flag,
  keyReference,
  lifetime,
  optional,
  recordName,
  required,
  scopeList,
  WrongUse,
  withDefault,
} from './arguments.ts'
import { recordCommand } from './command.ts'
import { json, table, writeWarnings } from './output.ts'

const keyOperand = (action: string) =>
  required('KEY', `the ID or name of the key to ${action}, as shown by "${program} keys list"`, keyReference)

export const keyCommands = {
  create: recordCommand({
    summary: 'Create an API key and print it. It is shown only once.',
    arguments: {
      name: required('NAME', 'its name, 1 to 255 characters', recordName),
      scopes: withDefault(
        'LIST',
        `permissions, separated by commas (default *, which includes all):\n${scopes.join(', ')}`,
        '*',
        scopeList,
      ),
      expires: optional(
        'DURATION',
        'its lifetime, such as 30s, 15m, 24h or 90d (default: until it is revoked)',
        lifetime,
      ),
      account: optional('ID', 'its account (optional if there is only one)', accountId),
      json: flag('print the full record as JSON, with the key as "secret"'),
    },
    run: async (db, { name, scopes, expires: lifetimeMs = null, account, json: isJson }, terminal) => {
      const actor = operator(await chooseAccount(db, account))
      const issued = await createKey(db, actor, { name, scopes, lifetimeMs })
      writeWarnings(terminal, textWarnings('name', name))
      return formatIssued(issued, isJson)
    },
  }),

  list: recordCommand({
    summary: 'List the API keys, without their secrets.',
    arguments: {
      account: optional('ID', 'only keys of this account', accountId),
      json: flag('print the records as JSON, with "status": active, expired or revoked'),
    },
    run: async (db, { account, json: isJson }) => {
      const keys = await listKeys(db, account === undefined ? null : await existingAccount(db, account))
      return isJson ? json(keys.map(withStatus)) : keyTable(keys)
    },
  }),

  rotate: recordCommand({
    summary: 'Replace an API key: print a new key, and let the old one expire.',
    arguments: {
      operand: keyOperand('replace'),
      overlap: withDefault(
        'DURATION',
        'how long the old key stays valid, such as 0s, 30s, 15m, 24h or 90d (default 24h)',
        '24h',
        duration,
      ),
      json: flag('print the full new record as JSON, with the key as "secret"'),
    },
    notes: `The new key has the lifetime that the old key was created with. Until the old key expires, you can rotate it again, for
example if you lose the new key. Each rotation creates another key and never extends the old one.`,
    run: async (db, { operand, overlap, json: isJson }) => {
      const { account_id, id } = await chooseKey(db, operand)
      return formatIssued(await rotateKey(db, operator(account_id), id, overlap), isJson)
    },
  }),

  revoke: recordCommand({
    summary: 'Revoke an API key. Running servers reject it within 10 seconds.',
    arguments: { operand: keyOperand('revoke'), json: flag('print the full record as JSON') },
    run: async (db, { operand, json: isJson }) => {
      const { account_id, id } = await chooseKey(db, operand)
      const key = await revokeKey(db, operator(account_id), id)
      return isJson ? json(withStatus(key)) : `Key ${key.id} (${key.name}) is revoked.`
    },
  }),
}

/**
 * Returns the key with this ID, otherwise the one with this name; active keys first. Throws `StartupFailure`, or
 * `WrongUse` for several.
 */
async function chooseKey(db: Db, reference: string): Promise<Key> {
  const all = await listKeys(db, null)
  const withId = all.filter(({ id }) => String(id) === reference)
  const keys = withId.length > 0 ? withId : all.filter(({ name }) => name === reference)
  const active = keys.filter((key) => keyStatus(key) === 'active')
  const [key, ...others] = active.length > 0 ? active : keys
  if (key === undefined) {
    const problem = positiveInteger(reference) !== undefined ? `Key ${reference} doesn't exist` : 'No key has that name'
    throw new StartupFailure(`${problem}. To see all keys, run "${program} keys list".`)
  }
  if (others.length === 0) return key
  const ids = [key, ...others].map(({ id }) => id).join(', ')
  throw new WrongUse(`Several keys are named ${key.name}. Use an ID instead: ${ids}.`)
}

function formatIssued({ key, secret }: IssuedKey, isJson: boolean): string {
  return isJson ? json({ ...withStatus(key), secret }) : secret
}

function withStatus(key: Key) {
  return { ...key, status: keyStatus(key) }
}

function keyTable(keys: readonly Key[]): string {
  const lines = keys.map((key) => [
    String(key.id),
    String(key.account_id),
    key.name,
    `${key.first_characters}…${key.last_characters}`,
    keyStatus(key),
    key.scopes.join(','),
    key.created_at,
    key.expires_at ?? 'never',
    key.last_used_at ?? 'never',
  ])
  return table([['ID', 'ACCOUNT', 'NAME', 'KEY', 'STATUS', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'], ...lines])
}
