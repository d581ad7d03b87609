import { form, optional } from '../forms/form.ts'
import { oneOf } from '../forms/rules.ts'

/** How the OpenAPI document describes request bodies: forms and JSON, or only JSON with native values. */
export type Bodies = 'all' | 'json'

/** The query of `/openapi.json`. */
export const documentQuery = form<{ readonly bodies: Bodies }>({
  bodies: optional(
    oneOf(
      ['all', 'json'],
      'How request bodies are described. `all`: forms and JSON, with every accepted spelling. `json`: JSON only, with native values, for code generators that cannot handle two media types in one body.',
    ),
    'all',
  ),
})
