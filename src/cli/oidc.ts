/** The command that checks the configuration of OpenID Connect. */

import { readOidcConfig } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'
import { checkProvider } from '../sign-in/oidc/check.ts'
import { flag } from './arguments.ts'
import { command } from './command.ts'
import { json, printable, table } from './output.ts'

export const oidcCommands = {
  check: command({
    summary: 'Check OIDC_ISSUER and the client secret, and print the URLs to register.',
    arguments: { json: flag('print the same as JSON') },
    notes: `The command reads the OIDC_… variables and BASE_URL. To check the client secret, it sends the provider a token request with
an invalid code, and another one with an invalid secret. The exit code is 1 if the provider rejects the client, or
can't be used.`,
    run: async ({ json: isJson }, { err }) => {
      const config = readOidcConfig()
      if (config === null) throw new StartupFailure('OIDC_ISSUER is not set. docs/sign-in.md has the steps.')
      const { found, refusal } = await checkProvider(config)
      if (refusal !== null) err.write(`The client can't be used: ${printable(refusal)}.\n`)
      const rows = Object.entries(found).map(([name, value]) => [labels[name] ?? name, formatValue(value)])
      return { text: isJson ? json(found) : table(rows), code: refusal === null ? 0 : 1 }
    },
  }),
}

const labels: Readonly<Record<string, string>> = {
  issuer: 'Issuer',
  authorization_endpoint: 'Authorization endpoint',
  token_endpoint: 'Token endpoint',
  token_endpoint_auth_method: 'Authentication method of the client',
  userinfo_endpoint: 'Userinfo endpoint',
  jwks_uri: 'Keys',
  client_secret: 'Client secret',
  backchannel_logout: 'Back-channel logout',
  redirect_uri: 'Register this redirect URI',
  logout_uri: 'Register this back-channel logout URI',
}

function formatValue(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'supported' : 'not supported: sessions end after OIDC_SESSION'
  if (value === 'unknown') return "couldn't be checked: the provider's responses don't show whether it is right"
  return typeof value === 'string' ? value : 'none'
}
