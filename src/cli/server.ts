import { once } from 'node:events'
import { connect } from 'node:net'
import type { Writable } from 'node:stream'
import { readOwnUrl } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'
import { findAddresses } from '../instance/store.ts'
import { ensureOwner } from '../members/store.ts'
import { insertLoginToken, loginLifetimeMs } from '../sessions/store.ts'
import { signInUrl } from '../sessions/token.ts'
import type { Db } from '../storage/port.ts'
import { program } from '../version.ts'
import { chooseAccount, operatorOf } from './accounts.ts'
import { accountId, flag, optional, text, WrongUse } from './arguments.ts'
import { command, recordCommand } from './command.ts'
import { json } from './output.ts'
import { chooseMember } from './references.ts'

export const startCommand = command({
  summary: 'Start the server, as "npm start" does.',
  arguments: {},
  notes: `The server reads its configuration from environment variables (see docs/configuration.md) and runs until you press
Ctrl-C. The first start creates the database, and prints a sign-in link to the dashboard and an API key. Without
DATABASE_URL, the database is data/waymark.db in the current folder.`,
  run: async (_, { serve }) => {
    await serve()
    return ''
  },
})

export const loginLinkCommand = recordCommand({
  summary: 'Print a one-time sign-in link for the dashboard.',
  arguments: {
    account: optional('ID', 'the account to sign in to (optional if there is only one)', accountId),
    member: optional('MEMBER', 'the member who signs in, by ID or email (default: the first owner)', text),
    name: optional('NAME', `replaced by "${program} invitations create"`, noName),
    json: flag('print "url", "account_id", "member_id" and "expires_at" as JSON'),
  },
  notes: `The link is valid for 30 minutes. It starts with BASE_URL. If that is unset, it starts with the URL that the server
stored at its last start. If nothing is listening there, the command prints a warning on stderr.`,
  run: async (db, { account: given, member, json: isJson }, { err }) => {
    const account = await chooseAccount(db, given)
    const base = await findDashboard(db)
    const now = Date.now()
    const id =
      member === undefined
        ? await ensureOwner(db, operatorOf(account))
        : (await chooseMember(db, account, member, '--member')).id
    const url = signInUrl(base, await insertLoginToken(db, { account, id }, { now }))
    const expires_at = new Date(now + loginLifetimeMs).toISOString()
    await warnUnlessListening(base, err)
    return isJson ? json({ url, account_id: account, member_id: id, expires_at }) : url
  },
})

/** Earlier versions named sessions instead of members. */
function noName(): never {
  throw new WrongUse(`Sign-in links are for members. To give someone else access, run "${program} invitations create".`)
}

/** Returns the URL of the dashboard, without a trailing slash. Throws `StartupFailure` if it is unknown. */
export async function findDashboard(db: Db): Promise<string> {
  const base = readOwnUrl((await findAddresses(db)).base_url)
  if (base !== null) return base
  throw new StartupFailure(
    'With PORT=0, the server uses any free port. Start it once, or set BASE_URL to the URL of the dashboard.',
  )
}

/** Warns if no server listens on the URL that a printed link starts with. */
export async function warnUnlessListening(base: string, err: Writable): Promise<void> {
  if (await isListening(new URL(base))) return
  err.write(`Nothing is listening on ${base}. Start the server before you open the link.\n`)
}

/** Returns false if the connection is refused. Slow and unknown hosts count as listening: browsers may know another way. */
async function isListening({ hostname, port, protocol }: URL): Promise<boolean> {
  const defaultPort = protocol === 'https:' ? 443 : 80
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(1_000) })
    return true
  } catch (error) {
    return !isRefused(error)
  } finally {
    socket.destroy()
  }
}

/** Whether an error means that nothing listens. A name with several addresses has an error for each. */
function isRefused(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefused)
  return /^(?:ECONNREFUSED|EADDRNOTAVAIL)$/.test((error as NodeJS.ErrnoException).code ?? '')
}
