import type { Role } from '../access/roles.ts'

/** How people sign in: with a one-time link, with an API key, with OpenID Connect or with a passkey. */
export type SignInMethod = 'link' | 'key' | 'oidc' | 'passkey'

/** An open session with its account. */
export interface Session {
  readonly id: number
  readonly method: SignInMethod
  readonly account: {
    readonly id: number
    readonly name: string
    /** See `accounts/calendar.ts`. */
    readonly time_zones: string
    readonly created_at: string
    readonly canKeysSignIn: boolean
  }
  /** Null if a key started the session. */
  readonly member: {
    readonly id: number
    readonly name: string
    readonly role: Role
    readonly person: {
      readonly id: number
      /** The IANA name of the time zone of their forms; null until it is known. */
      readonly timeZone: string | null
      readonly hasOtherAccounts: boolean
    }
  } | null
  /** Null if a member has signed in. */
  readonly key: { readonly id: number; readonly name: string } | null
}
