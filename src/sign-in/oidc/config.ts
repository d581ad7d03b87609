import type { Role } from '../../access/roles.ts'

/** The configuration of OpenID Connect. */
export interface OidcConfig {
  /** Exactly as the provider's metadata and tokens have it. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The URL of the dashboard, without a trailing slash. */
  readonly baseUrl: string
  /** The provider on the button. */
  readonly name: string
  /** With one space between them. */
  readonly scopes: string
  readonly roleClaim: string
  /** Roles by value of the claim. */
  readonly roles: ReadonlyMap<string, Role>
  /** The account that people with a role join; null for the only one. */
  readonly account: number | null
  readonly sessionLifetimeMs: number
}

/** Returns the URL to register at the provider: where it sends people back to. */
export function redirectUri({ baseUrl }: Pick<OidcConfig, 'baseUrl'>): string {
  return `${baseUrl}/app/oidc/callback`
}

/** Returns the URL to register at the provider for logouts. */
export function logoutUri({ baseUrl }: Pick<OidcConfig, 'baseUrl'>): string {
  return `${baseUrl}/app/oidc/logout`
}
