/** Checks the configuration of OpenID Connect against the provider. */

import { StartupFailure } from '../../errors.ts'
import { OidcClient } from './client.ts'
import { logoutUri, type OidcConfig, redirectUri } from './config.ts'
import { ProviderUnavailable } from './provider-fetch.ts'
import { authMethod, ProviderRefusal } from './refusals.ts'

/** Returns the metadata, the URLs, and why the provider rejects the client. Throws `StartupFailure` if it can't be used. */
export async function checkProvider(config: OidcConfig) {
  const client = new OidcClient(config)
  const metadata = await client.metadata().catch(unusable(`The metadata of OIDC_ISSUER ${config.issuer}`))
  const { issuer, authorization_endpoint, token_endpoint, userinfo_endpoint = null, jwks_uri } = metadata
  const tried = await client.acceptsSecret().catch((error: unknown) => {
    if (error instanceof ProviderRefusal) return error
    return unusable(`The token endpoint ${token_endpoint}`)(error)
  })
  const isRejected = tried instanceof ProviderRefusal && tried.problem === 'secret_rejected'
  const found = {
    ...{ issuer, authorization_endpoint, token_endpoint, token_endpoint_auth_method: authMethod(metadata) },
    ...{ userinfo_endpoint, jwks_uri },
    client_secret: tried === true ? 'accepted' : isRejected ? 'rejected' : 'unknown',
    backchannel_logout: metadata.backchannel_logout_supported === true,
    redirect_uri: redirectUri(config),
    logout_uri: logoutUri(config),
  }
  return { found, refusal: tried instanceof ProviderRefusal ? tried.message : null }
}

/** Returns what throws `StartupFailure` if `name` can't be used. */
function unusable(name: string) {
  return (error: unknown): never => {
    if (!(error instanceof ProviderUnavailable)) throw error
    throw new StartupFailure(`${name} can't be used: ${error.message}.`)
  }
}
