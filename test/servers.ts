/** Servers of tests on free ports of this machine, and a certificate for them. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Bench } from './processes.ts'
import { repository } from './scripts.ts'

const read = (file: string) => readFileSync(join(repository, 'test/tls', file), 'utf8')

/** A certificate for localhost, which no one trusts, and its key. */
export const tls = { cert: read('server.crt'), key: read('server.key') }

/** Starts a server on a free port until the test ends. Returns the port. */
export async function listenOn(t: Bench, server: Server, host = '127.0.0.1'): Promise<number> {
  await once(server.listen(0, host), 'listening')
  t.after(() => {
    server.close()
    const { closeAllConnections } = server as Partial<HttpServer>
    closeAllConnections?.call(server)
  })
  return (server.address() as AddressInfo).port
}

/** The certificates of authorities that are trusted otherwise. */
const authorities = getCACertificates('default')

/** Trusts the certificate until the test ends. */
export function trustCertificate(t: Bench): void {
  t.after(() => setDefaultCACertificates(authorities))
  setDefaultCACertificates([...authorities, tls.cert])
}
