/** Writes the files that the server sends as /openapi.json, and below /docs and /problems. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { buildFiles } from './files.ts'

const folder = new URL('../../docs/', import.meta.url)

rmSync(new URL('html/', folder), { recursive: true, force: true })
for (const [path, text] of buildFiles()) {
  const file = new URL(path, folder)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, text)
}
