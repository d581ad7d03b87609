import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const source = readFileSync(new URL('tokens.css', import.meta.url), 'utf8')
const pair = /--([\w-]+): light-dark\(oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\), oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\)\)/g

/** The relative luminance (WCAG 2.2) of each color in the light and the dark scheme. */
const luminances = new Map(
  [...source.matchAll(pair)].map(([, name = '', ...values]) => {
    const [l1 = 0, c1 = 0, h1 = 0, l2 = 0, c2 = 0, h2 = 0] = values.map(Number)
    return [name, [luminance(l1 / 100, c1, h1), luminance(l2 / 100, c2, h2)] as const]
  }),
)

/** Returns the luminance of an OKLCH color with Björn Ottosson's matrices, clipped to sRGB. */
function luminance(lightness: number, chroma: number, hue: number): number {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)]
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  const red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s
  const green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s
  const blue = -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s
  const shown = (value: number) => Math.min(1, Math.max(0, value))
  return 0.2126 * shown(red) + 0.7152 * shown(green) + 0.0722 * shown(blue)
}

/** The lower contrast of both schemes. */
function contrast(front: string, back: string): number {
  const [first, second] = [luminances.get(front), luminances.get(back)]
  assert.ok(first && second, `${front} or ${back} is not among the tokens`)
  const ratios = [0, 1].map((scheme) => {
    const [darker = 0, lighter = 0] = [first[scheme] as number, second[scheme] as number].sort((x, y) => x - y)
    return (lighter + 0.05) / (darker + 0.05)
  })
  return Math.min(...ratios)
}

function assertAll(fronts: readonly string[], backs: readonly string[], least: number): void {
  for (const front of fronts) {
    for (const back of backs) {
      const ratio = contrast(front, back)
      assert.ok(ratio >= least, `${front} on ${back}: ${ratio.toFixed(2)} to 1`)
    }
  }
}

test('text has a contrast of 4.5 to 1 with its background, in both schemes', () => {
  assertAll(['ink', 'muted', 'accent', 'accent-strong', 'success', 'warning', 'danger'], ['ground', 'raised'], 4.5)
  assertAll(['ink', 'accent'], ['accent-soft', 'success-soft', 'warning-soft', 'danger-soft'], 4.5)
  assertAll(['ink', 'muted'], ['line'], 4.5)
  for (const meaning of ['accent', 'success', 'warning', 'danger']) assertAll([meaning], [`${meaning}-soft`], 4.5)
  assertAll(['on-accent'], ['accent', 'accent-strong'], 4.5)
  assertAll(['on-danger'], ['danger', 'danger-strong'], 4.5)
})

test('control borders and space dots have a contrast of 3 to 1', () => {
  assertAll(['edge', 'dot-1', 'dot-2', 'dot-3', 'dot-4', 'dot-5', 'accent'], ['ground', 'raised'], 3)
})
