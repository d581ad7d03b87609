import type { Semaphore } from '../../lib/semaphore.ts'
import { WorkerClient } from '../../lib/worker-client.ts'
import type { Credential, registrationTexts, signInTexts } from './credential.ts'
import type { RelyingParty } from './relying-party.ts'

/** A passkey that is valid, but not stored yet. */
export interface Registration {
  readonly credentialId: string
  readonly publicKey: Uint8Array
  readonly counter: number
}

/** What the signature of a stored passkey is checked against. */
interface StoredKey {
  readonly public_key: Uint8Array
  readonly counter: number
}

export interface RegistrationRequest {
  readonly rp: RelyingParty
  readonly credential: Credential<(typeof registrationTexts)[number]>
  readonly passkey: null
}

export interface SignInRequest {
  readonly rp: RelyingParty
  readonly credential: Credential<(typeof signInTexts)[number]>
  readonly passkey: StoredKey
}

export type VerificationRequest = RegistrationRequest | SignInRequest

/** Verifies responses of authenticators in a thread, which the first response starts. */
export class PasskeyVerifier {
  readonly #client = new WorkerClient<VerificationRequest, Registration | number | undefined, never>({
    module: new URL('./worker.ts', import.meta.url),
    workerData: null,
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    closeMs: 5_000,
    onNotice: () => undefined,
  })
  readonly #turns: Semaphore

  /** `turns` limits the concurrent verifications. */
  constructor(turns: Semaphore) {
    this.#turns = turns
  }

  /** Returns the passkey of a registration; undefined if it is not valid. */
  async registration(
    rp: RelyingParty,
    credential: RegistrationRequest['credential'],
  ): Promise<Registration | undefined> {
    return (await this.#verify({ rp, credential, passkey: null })) as Registration | undefined
  }

  /** Returns the new signature counter of a passkey; undefined if its signature is not valid. */
  async counter(
    rp: RelyingParty,
    credential: SignInRequest['credential'],
    { public_key, counter }: StoredKey,
  ): Promise<number | undefined> {
    return (await this.#verify({ rp, credential, passkey: { public_key, counter } })) as number | undefined
  }

  #verify(request: VerificationRequest): Promise<Registration | number | undefined> {
    return this.#turns.run(() => this.#client.request(request))
  }

  /** Lets current verifications finish. Idempotent. */
  close(): Promise<void> {
    return this.#client.close()
  }
}
