import assert from 'node:assert/strict'
import { test } from 'node:test'
import { qrStyleForm } from './style.ts'

const valid = { dark: '#000000', background: '#ffffff', margin: '4' }

/** Returns the fields and the sentences of the violations. */
function violationsOf(changed: Partial<typeof valid>): (readonly [string, string])[] {
  return qrStyleForm
    .read({ ...valid, ...changed })
    .violations.map(({ field, refusal }) => [field, refusal.forForm('Color')])
}

test('accepts colors that scanners read, in lower case', () => {
  for (const [dark, background] of [
    ['#000000', '#ffffff'],
    ['#0B5C6B', '#FFFFFF'],
    ['#7a1f1f', '#fff4e0'],
    ['#000000', '#ffff00'],
    ['#757575', '#ffffff'],
  ] as const) {
    const { values, violations } = qrStyleForm.read({ dark, background, margin: '0' })
    assert.deepEqual(violations, [])
    assert.deepEqual(values, { dark: dark.toLowerCase(), background: background.toLowerCase(), margin: 0 })
  }
})

test('rejects inverted codes, low contrast and dark backgrounds, and names the field and the fix', () => {
  const inverted =
    'Scanners expect a dark code on a light background. Choose a darker code color, or swap the two colors.'
  const pale = (ratio: string) =>
    `Scanners need a contrast of at least 4:1, and these colors have ${ratio}:1. Choose a darker code color or a lighter background.`
  const dim = 'The background is too dark for scanners. Choose a lighter one.'
  for (const [dark, background, field, sentence] of [
    ['#ffffff', '#000000', 'dark', inverted],
    ['#808080', '#808080', 'dark', inverted],
    ['#ffff00', '#ffffff', 'dark', pale('1')],
    ['#999999', '#ffffff', 'dark', pale('2.8')],
    ['#ff0000', '#ffffff', 'dark', pale('3.9')],
    ['#000000', '#808080', 'background', dim],
    ['#000080', '#a9a9a9', 'background', dim],
  ] as const) {
    assert.deepEqual(violationsOf({ dark, background }), [[field, sentence]])
  }
})

test('rejects values that are not colors or margins', () => {
  for (const color of ['red', '#fff', '#12345g', 'url(#x)', '#000000"/>']) {
    assert.deepEqual(violationsOf({ background: color }), [['background', 'Enter a color such as #0b5c6b.']])
  }
  assert.deepEqual(violationsOf({ dark: '' }), [['dark', 'Fill in “Color”.']])
  for (const margin of ['-1', '11', '4.5', 'x']) {
    assert.deepEqual(violationsOf({ margin }), [['margin', '“Color” must be a whole number from 0 to 10.']])
  }
})
