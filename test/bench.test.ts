import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresOf } from '../bench/figures.ts'
import { readOptions, usage, WrongUse } from '../bench/options.ts'
import { asText } from '../bench/report.ts'

/** What a run prints whose only figures are those of a process that is far too big and slow. */
function printed(args: readonly string[]): string {
  const options = readOptions(args)
  assert.ok(options !== null)
  return asText(
    figuresOf([], [{ kind: 'domains', records: 1_000, rssMb: 9_000, peakRssMb: 9_000, startMs: [9_000] }], options),
  )
}

test('a quick run ends with figures, whatever they are', () => {
  const text = printed(['--quick'])
  assert.match(text, /\| 1000 records \| +9000 \|/)
  assert.doesNotMatch(text, /FAIL|target/)
})

test('targets belong to --gate, as its help says', () => {
  assert.match(
    printed(['--quick', '--gate']),
    /RSS with 1000 records < \d+ MB .* FAIL[\s\S]*2 of 2 targets are missed\.\n$/,
  )
  assert.match(usage, /--gate +holds the figures to the targets/)
  assert.throws(() => readOptions(['--gate', '--nodes', '2']), WrongUse)
})
