/** Errors of TLS connections, by the codes of OpenSSL for certificates, and of Node for failed handshakes. */

const tls = /CERT|CRL|SIGNATURE|^(?:ERR_SSL|ERR_TLS)_|^(?:EPROTO|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE))$/

/** The chain of certificates ends in a certificate authority that this machine doesn't know. */
const untrusted =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/

export function isTlsError(error: unknown): boolean {
  return tls.test(String((error as NodeJS.ErrnoException).code))
}

/** Returns whether this machine doesn't know the authority of a certificate, such as a private one. */
export function isUntrusted(error: unknown): boolean {
  return untrusted.test(String((error as NodeJS.ErrnoException | undefined)?.code))
}

/** Describes an untrusted certificate and the remedy, without a period at the end. */
export function describeUntrusted({ code }: NodeJS.ErrnoException): string {
  return `this machine doesn't trust its TLS certificate (${code}). Set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority`
}
