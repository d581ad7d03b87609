/** Passkeys as browsers send them: the JSON of `PublicKeyCredential.toJSON()` in a form field, which may be anything. */

/** A response of an authenticator. All texts are base64url. */
export interface Credential<Name extends string> {
  readonly id: string
  readonly response: Readonly<Record<Name | 'clientDataJSON', string>>
  readonly transports: readonly string[]
  /** From the signed client data. */
  readonly challenge: string
}

/** Signatures of EdDSA, ES256 and RS256: all authenticators have one of them. */
export const algorithms = [-8, -7, -257]

/** The texts in the response to a registration and to a sign-in. */
export const registrationTexts = ['attestationObject'] as const
export const signInTexts = ['authenticatorData', 'signature', 'userHandle'] as const

/** Ids have up to 1,023 bytes (WebAuthn §4). */
const maxIdLength = 1_364

/** Reads a form field. Returns undefined if a text is missing or malformed. */
export function readCredential<Name extends string>(
  sent: unknown,
  names: readonly Name[],
): Credential<Name> | undefined {
  const { id, response } = objectIn(sent)
  const { transports, ...texts } = toObject(response)
  const signed = [...names, 'clientDataJSON'].map((name) => [name, texts[name]] as const)
  if (!isBase64Url(id) || id.length > maxIdLength || !signed.every(([, text]) => isBase64Url(text))) return undefined
  const { challenge } = objectIn(Buffer.from(String(texts.clientDataJSON), 'base64url').toString())
  if (!isBase64Url(challenge)) return undefined
  const own = Object.fromEntries(signed) as Credential<Name>['response']
  return { id, response: own, transports: knownTransports(transports), challenge }
}

const allTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

function knownTransports(sent: unknown): string[] {
  return Array.isArray(sent) ? allTransports.filter((each) => sent.includes(each)) : []
}

function isBase64Url(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]+$/.test(value)
}

/** Returns the object in a JSON text. Returns an empty object for any other text. */
function objectIn(text: unknown): Readonly<Record<string, unknown>> {
  try {
    return toObject(typeof text === 'string' ? JSON.parse(text) : null)
  } catch {
    return {}
  }
}

function toObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
