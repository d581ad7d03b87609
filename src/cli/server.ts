import { findInstanceUrls } from '../instance/store.ts'
import { ensureOwner } from '../members/store.ts'
import { insertLoginToken, loginLifetimeMs } from '../sessions/store.ts'
import { signInUrl } from '../sessions/token.ts'
import { program } from '../version.ts'
import { accountCommand } from './accounts.ts'
import { flag, optional, text, WrongUse } from './arguments.ts'
import { withClient } from './client.ts'
import { command } from './command.ts'
import { dashboardUrl, warnUnlessListening } from './instance.ts'
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

export const loginLinkCommand = accountCommand({
  summary: 'Print a one-time sign-in link for the dashboard.',
  arguments: {
    member: optional('MEMBER', 'the member who signs in, by ID or email (default: the first owner)', text),
    name: optional('NAME', `replaced by "${program} invitations create"`, noName),
    json: flag('print "url", "account_id", "member_id" and "expires_at" as JSON'),
  },
  notes: `The link is valid for 30 minutes. It starts with BASE_URL. If that is unset, it starts with the URL that the server
stored at its last start. If nothing is listening there, the command prints a warning on stderr.`,
  run: async (db, { member, json: isJson }, actor, terminal) => {
    const { account } = actor
    const base = dashboardUrl((await findInstanceUrls(db)).base_url)
    const now = Date.now()
    const id =
      member === undefined
        ? await ensureOwner(db, actor)
        : (await withClient({ db, actor, terminal }, (client) => chooseMember(client, member, '--member'))).id
    const url = signInUrl(base, await insertLoginToken(db, { account, id }, { now }))
    const expires_at = new Date(now + loginLifetimeMs).toISOString()
    await warnUnlessListening(base, terminal.err)
    return isJson ? json({ url, account_id: account, member_id: id, expires_at }) : url
  },
})

/** Earlier versions named sessions instead of members. */
function noName(): never {
  throw new WrongUse(`Sign-in links are for members. To give someone else access, run "${program} invitations create".`)
}
