import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { dashboardFiles, shortened } from './assets.ts'

test('compresses styles and scripts to less than 25 KB, without external resources', async () => {
  const files = await dashboardFiles()
  const texts = new Map([...files].map(([name, { codings }]) => [name, codings.identity.toString()]))
  const size = [...files.values()].reduce((sum, { codings }) => sum + (codings.br?.length ?? 0), 0)
  assert.ok(size < 25_000, `${size} bytes`)
  assert.match(texts.get('app.css') ?? '', /^@layer reset, tokens, base, parts, pages;/)
  const sheets = globSync('**/*.css', { cwd: new URL('styles', import.meta.url) })
  for (const sheet of sheets) {
    const text = shortened(readFileSync(new URL(`styles/${sheet}`, import.meta.url), 'utf8')).trim()
    assert.ok(texts.get('app.css')?.includes(text), `${sheet} is not among the sheets`)
  }
  assert.ok(sheets.length > 5)
  assert.doesNotMatch(texts.get('app.css') ?? '', /url\(|@import/)
  const imported = [...texts.values()].flatMap((text) =>
    [...text.matchAll(/from '\.\/(.*?)'/g)].map(([, name]) => name),
  )
  assert.ok(imported.length > 5)
  assert.deepEqual(
    imported.filter((name = '') => !files.has(name)),
    [],
  )
})
