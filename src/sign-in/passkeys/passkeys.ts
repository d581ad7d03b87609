/** Passkeys (WebAuthn Level 3): options for browsers, and verification of their responses. */

import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import type { Exchange } from '../../http/exchange.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import type { Storage } from '../../storage/port.ts'
import { challengeLifetimeMs, createChallenge, expiryOfChallenge, handleForChallenge } from './challenges.ts'
import { algorithms, type Credential, readCredential, registrationTexts, signInTexts } from './credential.ts'
import { findRelyingParty, type PasskeyPlace, type RelyingParty } from './relying-party.ts'
import {
  findChallengeKey,
  findCredential,
  findHandle,
  listPasskeys,
  type NewPasskey,
  signInByPasskey,
} from './store.ts'
import { PasskeyVerifier } from './verifier.ts'

/** The creator of a passkey: a person, or a new person who joins with an invitation and gets a new user handle. */
type Registrant = { readonly person: number } | { readonly invitation: number }

interface Services {
  readonly storage: Storage
  /** `BASE_URL`; null if it is not set. */
  readonly baseUrl: string | null
  readonly dashboardUrl: (exchange: Exchange) => string
  /** Limits the concurrent verifications. */
  readonly turns: Semaphore
}

/** The key of a 4096-bit RSA passkey takes about 530 bytes. */
const maxPublicKeyBytes = 1_024

/** In code points. */
const maxShownName = 64

export class Passkeys {
  readonly #services: Services
  readonly #verifier: PasskeyVerifier
  #key: Promise<Uint8Array> | undefined

  constructor(services: Services) {
    this.#services = services
    this.#verifier = new PasskeyVerifier(services.turns)
  }

  /** Returns whom passkeys are for; null if browsers allow none at this URL. */
  relyingParty(exchange: Exchange): RelyingParty | null {
    const { baseUrl, dashboardUrl } = this.#services
    return findRelyingParty(baseUrl, dashboardUrl(exchange))
  }

  /** Returns where the page with this path can use passkeys; null if browsers allow none at this URL. */
  place(exchange: Exchange, path: string): PasskeyPlace | null {
    const rp = this.relyingParty(exchange)
    return rp && { url: rp.origin + path, isHere: URL.parse(`http://${exchange.host}`)?.hostname === rp.id }
  }

  /** Returns the options of a sign-in. They are the same for everyone, except for the challenge. */
  async signInOptions({ id }: RelyingParty): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const challenge = createChallenge(await this.#challengeKey(), 'sign-in')
    return { challenge, rpId: id, timeout: challengeLifetimeMs, userVerification: 'required', allowCredentials: [] }
  }

  /**
   * Signs in with the response of an authenticator, a form field. Returns the secret of the session, or undefined if the
   * passkey cannot sign in. An unknown passkey takes as much work as a wrong signature.
   */
  async signIn(rp: RelyingParty, sent: unknown, browser: string): Promise<string | undefined> {
    const credential = readCredential(sent, signInTexts)
    const signed = credential && (await this.#signedChallenge(credential, 'sign-in'))
    if (credential === undefined || signed === undefined) return undefined
    const { storage } = this.#services
    const found = await findCredential(storage, credential.id)
    const counter = await this.#verifier.counter(rp, credential, found ?? unknownPasskey)
    if (counter === undefined || found === undefined) return undefined
    if (credential.response.userHandle !== base64Url(found.handle)) return undefined
    return signInByPasskey(storage, { ...signed, id: found.id, person: found.person_id, counter, browser })
  }

  /** Returns the options of a registration. `name` is shown by authenticators. The person must exist. */
  async registrationOptions(
    { id }: RelyingParty,
    registrant: Registrant,
    name: string,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { storage } = this.#services
    const challenge = createChallenge(await this.#challengeKey(), formatPurpose(registrant))
    // Security keys may reject longer names.
    const shown = [...name].slice(0, maxShownName).join('')
    const existing = 'person' in registrant ? await listPasskeys(storage, registrant.person) : []
    return {
      challenge,
      rp: { id, name: 'Waymark' },
      user: { id: base64Url(await this.#findHandle(registrant, challenge)), name: shown, displayName: shown },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: challengeLifetimeMs,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      excludeCredentials: existing.map(({ credential_id, transports }) => ({
        type: 'public-key',
        id: credential_id,
        transports: transports.split(',').filter(Boolean),
      })),
    }
  }

  /**
   * Verifies the response to a registration, a form field. Returns undefined if it is not valid. `insertPasskey` stores the
   * result; `insertPersonWithPasskey` also stores the new person, with its `handle`.
   */
  async verifyRegistration(rp: RelyingParty, registrant: Registrant, sent: unknown): Promise<NewPasskey | undefined> {
    const credential = readCredential(sent, registrationTexts)
    const signed = credential && (await this.#signedChallenge(credential, formatPurpose(registrant)))
    if (credential === undefined || signed === undefined) return undefined
    const verified = await this.#verifier.registration(rp, credential)
    if (verified === undefined || verified.publicKey.length > maxPublicKeyBytes) return undefined
    const handle = await this.#findHandle(registrant, signed.challenge)
    return { ...signed, ...verified, transports: credential.transports, handle }
  }

  /** Lets current verifications finish. Idempotent. */
  close(): Promise<void> {
    return this.#verifier.close()
  }

  async #signedChallenge({ challenge }: Credential<never>, purpose: string) {
    const expiresAt = expiryOfChallenge(await this.#challengeKey(), challenge, purpose)
    return expiresAt === undefined ? undefined : { challenge, expiresAt }
  }

  async #findHandle(registrant: Registrant, challenge: string): Promise<Uint8Array> {
    if ('invitation' in registrant) return handleForChallenge(await this.#challengeKey(), challenge)
    return (await findHandle(this.#services.storage, registrant.person)) ?? new Uint8Array()
  }

  /** Reads the key once. A failed attempt is repeated. */
  #challengeKey(): Promise<Uint8Array> {
    this.#key ??= findChallengeKey(this.#services.storage).catch((error) => {
      this.#key = undefined
      throw error
    })
    return this.#key
  }
}

function formatPurpose(registrant: Registrant): string {
  return 'person' in registrant ? `add to person ${registrant.person}` : `join by invitation ${registrant.invitation}`
}

function base64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

/** An ES256 key in COSE format for passkeys that do not exist: the generator of the curve P-256. */
const unknownPasskey = {
  public_key: Buffer.from(
    'a5010203262001' +
      '2158206b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
      '2258204fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
    'hex',
  ),
  counter: 0,
}
