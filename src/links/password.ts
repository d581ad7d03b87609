import { argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/** The argon2id hash of a password, in PHC form. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16)
  const parameters = {
    message: password.normalize('NFC'),
    nonce,
    parallelism: 1,
    tagLength: 32,
    memory: 19456,
    passes: 2,
  }
  const hash = await promisify(argon2)('argon2id', parameters)
  const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=19456,t=2,p=1$${text(nonce)}$${text(hash)}`
}
