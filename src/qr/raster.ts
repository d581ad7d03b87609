/** Pixels of an image: red, green, blue and alpha, not premultiplied. */
export interface Raster {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

/** The source pixels of each target pixel, and their weights. */
interface Window {
  readonly start: number
  readonly weights: readonly number[]
}

/** Resamples an image with a triangle filter. A smaller image blends all pixels of the original. */
export function resize({ width, height, data }: Raster, toWidth: number, toHeight: number): Raster {
  const columns = windowsOf(width, toWidth)
  const narrowed = new Float32Array(4 * toWidth * height)
  for (let y = 0; y < height; y++) {
    const row = premultiplied(data.subarray(4 * width * y, 4 * width * (y + 1)))
    for (const [x, window] of columns.entries()) addPixels(row, window, 4, narrowed, 4 * (toWidth * y + x))
  }
  const resized = new Float32Array(4 * toWidth * toHeight)
  for (const [y, window] of windowsOf(height, toHeight).entries()) {
    for (let x = 0; x < toWidth; x++) {
      addPixels(narrowed.subarray(4 * x), window, 4 * toWidth, resized, 4 * (toWidth * y + x))
    }
  }
  return { width: toWidth, height: toHeight, data: straightened(resized) }
}

function windowsOf(from: number, to: number): Window[] {
  const scale = from / to
  const reach = Math.max(1, scale)
  return Array.from({ length: to }, (_, index) => {
    const center = (index + 0.5) * scale - 0.5
    const start = Math.max(0, Math.ceil(center - reach))
    const end = Math.min(from - 1, Math.floor(center + reach))
    const weights = Array.from({ length: end - start + 1 }, (__, n) => 1 - Math.abs(start + n - center) / reach)
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return { start, weights: weights.map((weight) => weight / sum) }
  })
}

/** Adds the weighted pixels of a window, which are `step` values apart, to the target pixel at `at`. */
function addPixels(from: Float32Array, { start, weights }: Window, step: number, to: Float32Array, at: number): void {
  for (let n = 0; n < weights.length; n++) {
    const [source, weight] = [(start + n) * step, weights[n] as number]
    for (let c = 0; c < 4; c++) to[at + c] = (to[at + c] as number) + weight * (from[source + c] as number)
  }
}

function premultiplied(data: Uint8Array): Float32Array {
  const values = new Float32Array(data.length)
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] as number
    for (let c = 0; c < 3; c++) values[at + c] = ((data[at + c] as number) * alpha) / 255
    values[at + 3] = alpha
  }
  return values
}

function straightened(premultiplied: Float32Array): Uint8Array {
  const data = new Uint8Array(premultiplied.length)
  for (let at = 0; at < data.length; at += 4) {
    const alpha = premultiplied[at + 3] as number
    if (alpha < 0.5) continue
    for (let c = 0; c < 3; c++) data[at + c] = Math.min(255, ((premultiplied[at + c] as number) * 255) / alpha + 0.5)
    data[at + 3] = Math.min(255, alpha + 0.5)
  }
  return data
}
