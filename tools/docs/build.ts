/**
 * Writes docs/openapi.json: what the server serves as /openapi.json, in a form that people can read and compare. With
 * `--check` it writes nothing, and exits with 1 when the file is not what would be written.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { operations } from '../../src/app/api.ts'
import { openApiDocument } from './openapi/document.ts'

const file = new URL('../../docs/openapi.json', import.meta.url)
const document = `${JSON.stringify(openApiDocument(operations, 'http://localhost:3000'), null, 2)}\n`

if (!process.argv.includes('--check')) {
  writeFileSync(file, document)
} else if (readFileSync(file, 'utf8') !== document) {
  process.stderr.write('docs/openapi.json is stale. Run: npm run docs\n')
  process.exitCode = 1
}
