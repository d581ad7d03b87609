/** The client of the provider of OpenID Connect (Core 1.0, Discovery 1.0). */

import { randomUUID } from 'node:crypto'
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import type { Configuration, IDToken, ServerMetadata } from 'openid-client'
import { Failure, overloaded } from '../../errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { type OidcConfig, redirectUri } from './config.ts'
import type { Problem } from './problems.ts'
import { ProviderUnavailable, providerFetch } from './provider-fetch.ts'
import { authMethod, describeIssuer, findErrorCode, ProviderRefusal } from './refusals.ts'

/** The longest time for a response of the provider. */
const defaultTimeoutMs = 10_000
/** How long the provider's metadata are cached. */
const metadataLifetimeMs = 60 * 60 * 1_000
/** Signatures by the provider's key pairs. Never `none`, and no shared secrets. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA']
/** Clocks may differ by this many seconds. */
const clockTolerance = 30
/** How old logout tokens may be. Seconds. */
const maxLogoutTokenAge = 600
/** When a logout token has certainly expired. Milliseconds. */
export const maxLogoutTokenAgeMs = (maxLogoutTokenAge + 2 * clockTolerance) * 1_000

/** The secrets of a sign-in that has begun. Only the browser stores them. */
export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Claims of an ID token and of the userinfo endpoint. */
export type Claims = Readonly<Pick<IDToken, 'iss' | 'sub'> & Record<string, unknown>>

interface Provider {
  readonly configuration: Configuration
  readonly metadata: ServerMetadata
  readonly keys: JWTVerifyGetKey
}

export class OidcClient {
  readonly config: OidcConfig
  readonly #fetch: ReturnType<typeof providerFetch>
  readonly #isInsecure: boolean
  #cached: { readonly provider: Promise<Provider>; readonly until: number } | undefined
  readonly #requests = new Semaphore({
    ...{ concurrency: 16, concurrencyPerKey: 12, maxQueue: 256, maxQueuePerKey: 128, maxWaitMs: 15_000 },
    rejection: () => overloaded('Too many people are signing in. Try again in a few seconds.'),
  })

  constructor(config: OidcConfig, { timeoutMs = defaultTimeoutMs } = {}) {
    this.config = config
    // The configuration allows it only for this machine.
    this.#isInsecure = config.issuer.startsWith('http:')
    this.#fetch = providerFetch({ isInsecure: this.#isInsecure, timeoutMs })
  }

  /** Returns the provider's metadata. Throws `ProviderUnavailable`. */
  async metadata(): Promise<ServerMetadata> {
    return (await this.#discover()).metadata
  }

  /** Returns the provider's authorization URL, and the secrets that `finish` needs. */
  async start(): Promise<{ readonly url: string; readonly secrets: FlowSecrets }> {
    const { configuration } = await this.#discover()
    const lib = await import('openid-client')
    const secrets = { state: lib.randomState(), nonce: lib.randomNonce(), verifier: lib.randomPKCECodeVerifier() }
    const url = lib.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri(this.config),
      scope: this.config.scopes,
      // Cookies with SameSite=Lax arrive only with GET.
      response_mode: 'query',
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await lib.calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, secrets }
  }

  /**
   * Returns the verified claims of the person whom the provider sent back with this query. Anyone can send one, so the networks
   * of clients take turns.
   */
  finish(query: string, { state, nonce, verifier }: FlowSecrets, network: string): Promise<Claims> {
    return this.#requests.run(async () => {
      const { configuration, metadata, keys } = await this.#discover()
      const lib = await import('openid-client')
      const returned = new URL(`${redirectUri(this.config)}?${query}`)
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const tokens = await lib.authorizationCodeGrant(configuration, returned, checks).catch(async (error) => {
        throw ProviderRefusal.from(await findErrorCode(error), this.config, metadata) ?? error
      })
      await this.#verify(tokens.id_token ?? '', keys)
      const claims = tokens.claims() as IDToken
      if (metadata.userinfo_endpoint === undefined || this.#isComplete(claims)) return claims
      const { email_verified, ...more } = await lib.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      // What the endpoint says about its address must not verify another one.
      const isSame = claims.email === undefined || claims.email === more.email
      return { ...more, ...(isSame && { email_verified }), ...claims }
    }, network)
  }

  /**
   * Requests tokens with an invalid code. Returns whether the responses show that the provider accepts the client secret. Throws
   * `ProviderUnavailable`, and `ProviderRefusal` if it rejects the secret or another setting.
   */
  async acceptsSecret(): Promise<boolean> {
    const { metadata } = await this.#discover()
    const code = await this.#tryInvalidCode(this.config.clientSecret, metadata)
    const refusal = ProviderRefusal.from(code, this.config, metadata)
    // The invalid code can be the reason.
    if (refusal !== undefined && code !== 'invalid_request') throw refusal
    // Some providers check the code before the secret.
    return (await this.#tryInvalidCode(randomUUID(), metadata)) === 'invalid_client'
  }

  /** Returns the error code of the response to a token request with an invalid code. */
  async #tryInvalidCode(secret: string, metadata: ServerMetadata): Promise<string | undefined> {
    const lib = await import('openid-client')
    const parameters = { code: randomUUID(), redirect_uri: redirectUri(this.config), code_verifier: randomUUID() }
    try {
      await lib.genericGrantRequest(await this.#configure(metadata, secret), 'authorization_code', parameters)
      return undefined
    } catch (error) {
      const { cause } = error as Error
      if (cause instanceof ProviderUnavailable) throw cause
      return findErrorCode(error)
    }
  }

  /** Returns whether the ID token has what we need. Many providers send the rest from the userinfo endpoint only. */
  #isComplete(claims: IDToken): boolean {
    const { roles, roleClaim } = this.config
    const needed = ['name', 'email', 'email_verified', ...(roles.size > 0 ? [roleClaim] : [])]
    return needed.every((name) => claims[name] !== undefined)
  }

  /** Returns the claims of a logout token with a valid signature, issuer, audience and age. */
  verifyLogoutToken(token: string): Promise<JWTPayload> {
    return this.#requests.run(async () => {
      const { keys } = await this.#discover()
      return this.#verify(token, keys, { requiredClaims: ['iat', 'jti', 'events'], maxTokenAge: maxLogoutTokenAge })
    }, 'logouts')
  }

  async #verify(token: string, keys: JWTVerifyGetKey, options: object = {}): Promise<JWTPayload> {
    const { issuer, clientId: audience } = this.config
    const { jwtVerify } = await import('jose')
    const { payload } = await jwtVerify(token, keys, { issuer, audience, algorithms, clockTolerance, ...options })
    return payload
  }

  /** Returns the provider. Concurrent calls share one request, and a failure is not cached. */
  #discover(): Promise<Provider> {
    if (this.#cached === undefined || Date.now() >= this.#cached.until) {
      const provider = this.#requestMetadata().catch((error) => {
        this.#cached = undefined
        throw error instanceof ProviderUnavailable ? error : new ProviderUnavailable(describeError(error))
      })
      this.#cached = { provider, until: Date.now() + metadataLifetimeMs }
    }
    return this.#cached.provider
  }

  async #requestMetadata(): Promise<Provider> {
    const { issuer, clientId, clientSecret } = this.config
    const [lib, jose] = await Promise.all([import('openid-client'), import('jose')])
    const discovery = lib.discovery(new URL(issuer), clientId, undefined, undefined, {
      ...(this.#isInsecure && { execute: [lib.allowInsecureRequests] }),
      [lib.customFetch]: this.#fetch,
    })
    const discovered = await discovery.catch((error) => {
      const found = error.cause?.attribute === 'issuer' ? error.cause.body.issuer : undefined
      throw typeof found === 'string' ? new ProviderUnavailable(describeIssuer(found)) : error
    })
    const metadata = discovered.serverMetadata()
    // The library accepts a missing slash after the host, and any tenant of Entra.
    if (metadata.issuer !== issuer) throw new ProviderUnavailable(describeIssuer(metadata.issuer))
    const keysUrl = URL.parse(metadata.jwks_uri ?? '')
    if (keysUrl === null) throw new ProviderUnavailable('the metadata have no valid jwks_uri')
    const keys = jose.createRemoteJWKSet(keysUrl, { [jose.customFetch]: this.#fetch })
    return { configuration: await this.#configure(metadata, clientSecret), metadata, keys }
  }

  /** Returns the configuration of requests with this secret. */
  async #configure(metadata: ServerMetadata, secret: string): Promise<Configuration> {
    const lib = await import('openid-client')
    const sendsInBody = authMethod(metadata) === 'client_secret_post'
    const authentication = sendsInBody ? lib.ClientSecretPost(secret) : lib.ClientSecretBasic(secret)
    const configuration = new lib.Configuration(metadata, this.config.clientId, undefined, authentication)
    configuration[lib.customFetch] = this.#fetch
    if (this.#isInsecure) lib.allowInsecureRequests(configuration)
    return configuration
  }
}

/** Loads what the client uses. Otherwise, the first sign-in does, and blocks everything else. */
export async function loadOidcLibraries(): Promise<void> {
  await Promise.all([import('openid-client'), import('jose')])
}

/** Returns the problem that people see. `error` is what `OidcClient` has thrown; others are thrown again. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Failure || !(error instanceof Error)) throw error
  if (error instanceof ProviderRefusal) return error.problem
  if (error instanceof ProviderUnavailable || error.cause instanceof ProviderUnavailable) return 'unavailable'
  return 'error' in error && error.error === 'access_denied' ? 'denied' : 'rejected'
}

/** Describes an error for the operator, without tokens and without text that a provider can choose. */
export function describeError(error: unknown): string {
  const { message, cause, error: code } = error as Error & { error?: unknown }
  if (cause instanceof ProviderUnavailable) return cause.message
  const isFixed = cause instanceof Error && /^(OAUTH|ERR_J)/.test(String((cause as NodeJS.ErrnoException).code))
  const named = typeof code === 'string' && /^\w{1,64}$/.test(code) ? ` (${code})` : ''
  return `${message}${isFixed ? `: ${cause.message}` : ''}${named}`
}
