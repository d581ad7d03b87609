/** Returns the index of a weight. `fraction` is from 0 up to 1: each weight has its share of these numbers, in order. */
export function pickByWeight(weights: readonly number[], fraction: number): number {
  let left = fraction * weights.reduce((sum, weight) => sum + weight, 0)
  const index = weights.findIndex((weight) => {
    left -= weight
    return left < 0
  })
  return index === -1 ? weights.length - 1 : index
}
