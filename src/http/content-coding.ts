/** Content codings (RFC 9110 §8.4.1): the compressed forms of an answer. */

export type Coding = 'br' | 'gzip' | 'identity'

/** Characters of an Accept-Encoding header that is read; there are only some twenty codings to name. */
const maxLength = 1_024

/**
 * The first of the codings on offer that an Accept-Encoding header allows (RFC 9110 §12.5.3): one that it lists, or that its
 * `*` stands for, with a weight other than 0. `identity` if it allows none.
 */
export function codingFor(accepted: string | string[] | undefined, offered: readonly Coding[]): Coding {
  if (typeof accepted !== 'string' || accepted.length > maxLength) return 'identity'
  const weights = new Map(accepted.toLowerCase().split(',').map(weighted))
  return offered.find((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0) ?? 'identity'
}

function weighted(element: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = element.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [coding, weight === undefined ? 1 : Number(weight.slice(2))]
}
