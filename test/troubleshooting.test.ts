import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repository } from './scripts.ts'

test('the pages about errors quote messages that the source contains', () => {
  const files = globSync(['bin/*.js', 'src/**/*.{ts,js}'], { cwd: repository }).filter(
    (file) => !file.includes('.test.'),
  )
  const source = files.map((file) => readFileSync(join(repository, file), 'utf8')).join('\n')
  // The documents write … for each value.
  const sentences = source.replaceAll(/\$\{program\}/g, 'npx waymark').replace(/\$\{[^{}`]*\}/g, '…')
  const pages = globSync('docs/troubleshooting*.md', { cwd: repository })
  const text = pages.map((page) => readFileSync(join(repository, page), 'utf8')).join('\n')
  const blocks = [...text.matchAll(/^```text\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trimEnd().split('\n'))
  assert.ok(blocks.length > 25)
  for (const message of blocks) assert.ok(sentences.includes(message), message)
})
