import { readOwnUrl } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'
import { findAddresses } from '../instance/store.ts'
import { signInUrl } from '../sessions/sign-in-url.ts'
import { insertLoginToken, loginLifetimeMs } from '../sessions/store.ts'
import { accountOf } from './arguments.ts'
import { chosenAccount } from './chosen-account.ts'
import { json, jsonOption, type RecordCommand } from './command.ts'

export const loginLinkCommand: RecordCommand = {
  summary: 'Print an address that signs in to the dashboard once.',
  synopsis: '[--account ID] [--json]',
  details: `  --account ID   the account to sign in to; may be left out when there is only one
  --json         print "url", "account_id" and "expires_at" as JSON

The address is good for 30 minutes. It begins with BASE_URL, or else with the address that the server stored when it
started: its own BASE_URL, or its URL on its machine.`,
  options: { account: { type: 'string' }, ...jsonOption },
  takesOperand: false,
  makesDatabase: false,
  prepare: (given) => {
    const named = accountOf(given)
    return async (db) => {
      const account = await chosenAccount(db, named)
      const base = readOwnUrl((await findAddresses(db)).base_url)
      if (base === null) {
        throw new StartupFailure(
          'With PORT=0 the server may have any port. Start it once, or set BASE_URL to the URL of the dashboard.',
        )
      }
      const now = Date.now()
      const url = signInUrl(base, await insertLoginToken(db, account, loginLifetimeMs, now))
      const expires_at = new Date(now + loginLifetimeMs).toISOString()
      return given.values.json ? json({ url, account_id: account, expires_at }) : url
    }
  },
}
