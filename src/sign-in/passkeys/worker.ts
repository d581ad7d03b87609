/** The thread that verifies passkeys: loading the library takes 0.3 s, for which visitors would wait. */
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import { serveRequests } from '../../lib/worker-server.ts'
import { algorithms, type Credential } from './credential.ts'
import type { RelyingParty } from './relying-party.ts'
import type { Registration, RegistrationRequest, SignInRequest, VerificationRequest } from './verifier.ts'

serveRequests<VerificationRequest, Registration | number | undefined>({
  handle: (request) => (request.passkey === null ? verifyRegistration(request) : verifySignIn(request)),
  close: () => undefined,
})

/** Verifies a registration. Rejects attestation certificates, because none are requested. */
async function verifyRegistration({ rp, credential }: RegistrationRequest): Promise<Registration | undefined> {
  try {
    const attestation = decodeAttestationObject(Buffer.from(credential.response.attestationObject, 'base64url'))
    // The library would check certificates, for which it may send requests to the URLs in them.
    if (attestation.get('attStmt').get('x5c') !== undefined) return undefined
    if (!['none', 'packed'].includes(attestation.get('fmt'))) return undefined
    const { registrationInfo } = await verifyRegistrationResponse({
      ...toExpectation(rp, credential),
      supportedAlgorithmIDs: algorithms,
    })
    if (registrationInfo?.credential.id !== credential.id) return undefined
    const { publicKey, counter } = registrationInfo.credential
    return { credentialId: credential.id, publicKey, counter }
  } catch {
    return undefined
  }
}

/** Verifies the response to a sign-in. Returns its signature counter, or undefined. */
async function verifySignIn({ rp, credential, passkey }: SignInRequest): Promise<number | undefined> {
  const { public_key, counter } = passkey
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...toExpectation(rp, credential),
      credential: { id: credential.id, publicKey: new Uint8Array(public_key), counter },
    })
    return verified ? authenticationInfo.newCounter : undefined
  } catch {
    return undefined
  }
}

function toExpectation<Name extends string>({ id: rpId, origin }: RelyingParty, credential: Credential<Name>) {
  const { id, response, challenge } = credential
  return {
    response: { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {}, response },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  }
}
