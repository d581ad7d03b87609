import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repository } from './scripts.ts'

test('docs/troubleshooting.md quotes messages that the source contains', () => {
  const files = globSync('src/**/*.{ts,js}', { cwd: repository }).filter((file) => !file.includes('.test.'))
  const source = files.map((file) => readFileSync(join(repository, file), 'utf8')).join('\n')
  // The document writes … for each value.
  const sentences = source.replaceAll(/\$\{program\}/g, 'npx waymark').replace(/\$\{[^{}`]*\}/g, '…')
  const page = readFileSync(join(repository, 'docs/troubleshooting.md'), 'utf8')
  const blocks = [...page.matchAll(/^```text\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trimEnd().split('\n'))
  assert.ok(blocks.length > 25)
  for (const message of blocks) assert.ok(sentences.includes(message), message)
})
