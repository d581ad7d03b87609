/** The command that checks the configuration of OpenID Connect. */

import { readOidcConfig } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'
import { OidcClient } from '../sign-in/oidc/client.ts'
import { logoutUri, type OidcConfig, redirectUri } from '../sign-in/oidc/config.ts'
import { ProviderUnavailable } from '../sign-in/oidc/provider-fetch.ts'
import { flag } from './arguments.ts'
import { command } from './command.ts'
import { json, table } from './output.ts'

export const oidcCommands = {
  check: command({
    summary: 'Read the metadata of OIDC_ISSUER, and print the URLs to register.',
    arguments: { json: flag('print the same as JSON') },
    notes: 'The command reads the OIDC_… variables and BASE_URL. It sends no secret to the provider.',
    run: async ({ json: isJson }) => {
      const config = readOidcConfig()
      if (config === null) throw new StartupFailure('OIDC_ISSUER is not set. docs/sign-in.md has the steps.')
      const found = await check(config)
      return isJson
        ? json(found)
        : table(Object.entries(found).map(([name, value]) => [labels[name] ?? name, textOf(value)]))
    },
  }),
}

const labels: Readonly<Record<string, string>> = {
  issuer: 'Issuer',
  authorization_endpoint: 'Authorization endpoint',
  token_endpoint: 'Token endpoint',
  userinfo_endpoint: 'Userinfo endpoint',
  jwks_uri: 'Keys',
  backchannel_logout: 'Back-channel logout',
  redirect_uri: 'Register this redirect URI',
  logout_uri: 'Register this back-channel logout URI',
}

function textOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'supported' : 'not supported: sessions end after OIDC_SESSION'
  return typeof value === 'string' ? value : 'none'
}

/** Returns the metadata and the URLs. Throws `StartupFailure` if the provider can't be used. */
async function check(config: OidcConfig) {
  const metadata = await new OidcClient(config).metadata().catch((error: unknown) => {
    if (!(error instanceof ProviderUnavailable)) throw error
    throw new StartupFailure(`The metadata of OIDC_ISSUER ${config.issuer} can't be used: ${error.message}.`)
  })
  const { issuer, authorization_endpoint, token_endpoint, userinfo_endpoint = null, jwks_uri } = metadata
  return {
    ...{ issuer, authorization_endpoint, token_endpoint, userinfo_endpoint, jwks_uri },
    backchannel_logout: metadata.backchannel_logout_supported === true,
    redirect_uri: redirectUri(config),
    logout_uri: logoutUri(config),
  }
}
