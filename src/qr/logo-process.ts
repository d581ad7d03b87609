/**
 * The process that reads a logo from an untrusted file. It can only read its own code, so an exploit of the decoder can't
 * reach the network or the database. It reads a `LogoRequest` from the standard input, and writes a `LogoResponse` to the
 * standard output.
 */
import { readFileSync } from 'node:fs'
import { respond } from './logo-reader.ts'

process.stdout.write(JSON.stringify(respond(JSON.parse(readFileSync(0, 'utf8')))))
