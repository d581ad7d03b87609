import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { useEngine } from './engine.ts'
import { runFiles } from './files.ts'
import { repository } from './scripts.ts'

/** Runs the test files that match the patterns on PostgreSQL. Every pattern must match a file. */
export async function runOnPostgres(patterns: readonly string[]): Promise<void> {
  useEngine('postgres')
  for (const pattern of patterns) {
    const files = globSync(pattern, { cwd: repository })
    assert.ok(files.length > 0, `${pattern} matches no test file`)
    await runFiles(files.sort(), ' on PostgreSQL')
  }
}
