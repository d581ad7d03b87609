/** Errors of the provider that only an operator can fix, by changing a setting here or at the provider. */

import type { ServerMetadata } from 'openid-client'
import { type OidcConfig, redirectUri } from './config.ts'
import type { Problem } from './problems.ts'

/** How the client secret is sent to the token endpoint. */
export function authMethod(metadata: ServerMetadata): 'client_secret_post' | 'client_secret_basic' {
  const isInBody = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post')
  return isInBody ? 'client_secret_post' : 'client_secret_basic'
}

const noFlow = () => 'the client in OIDC_CLIENT_ID may not use the authorization code flow. Allow it at the provider'
const noRedirectUri = (config: OidcConfig) =>
  `the provider doesn't know the redirect URI. Register ${redirectUri(config)} there`

/** Reasons by error code (RFC 6749 §4.1.2.1 and §5.2, and the codes of some providers), without text of the provider. */
const reasons: Readonly<Record<string, (config: OidcConfig, metadata: ServerMetadata) => string>> = {
  invalid_client: (_, metadata) =>
    `the provider rejects OIDC_CLIENT_ID or OIDC_CLIENT_SECRET. Check both, and that the client's authentication method is ${authMethod(metadata)}`,
  unauthorized_client: noFlow,
  unsupported_grant_type: noFlow,
  unsupported_response_type: noFlow,
  invalid_scope: () => 'the provider rejects a scope in OIDC_SCOPES. Allow it for the client, or remove it',
  invalid_request: (config) =>
    `the provider rejects the request. Compare the client's settings with docs/sign-in.md, and its redirect URI with ${redirectUri(config)}`,
  redirect_uri_mismatch: noRedirectUri,
  invalid_redirect_uri: noRedirectUri,
}

/** The message names the variables to check. */
export class ProviderRefusal extends Error {
  readonly problem: Problem

  private constructor(code: string, reason: string) {
    super(reason)
    this.problem = code === 'invalid_client' ? 'secret_rejected' : 'misconfigured'
  }

  /** Returns the refusal with this error code; undefined if it isn't about a setting. */
  static from(code: string | undefined, config: OidcConfig, metadata: ServerMetadata): ProviderRefusal | undefined {
    if (code === undefined || !Object.hasOwn(reasons, code)) return undefined
    return new ProviderRefusal(code, `${reasons[code]?.(config, metadata)} (${code})`)
  }
}

/**
 * Returns the error code of a failed token or authorization response; undefined if it has none. Providers have several codes for
 * a rejected client secret, but the status 401.
 */
export async function findErrorCode(error: unknown): Promise<string | undefined> {
  const { error: code, response, cause } = error as { error?: unknown; response?: unknown; cause?: unknown }
  const failed = [response, cause].find((each) => each instanceof Response)
  // The library doesn't read the body of a response with `WWW-Authenticate`.
  const body =
    code === undefined && failed ? ((await failed.json().catch(() => null)) as { error?: unknown } | null) : null
  const found = [code, body?.error].find((each) => typeof each === 'string')
  return failed?.status === 401 && found !== 'invalid_grant' ? 'invalid_client' : found
}

/** Describes the issuer in the metadata for the operator: a text of the provider, but short and in one line. */
export function describeIssuer(issuer: string): string {
  const canBeSet = issuer.length <= 200 && /^https?:\/\/[\w.~:/%[\]-]+$/.test(issuer)
  const shown = `the issuer is ${JSON.stringify(issuer.slice(0, 200))}`
  return canBeSet ? `${shown}. If that is your provider, set OIDC_ISSUER=${issuer}` : shown
}
