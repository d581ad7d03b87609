/** The parameters and the response of `explain`. */
import type { Static } from 'typebox'
import { form, optional, type Rule } from '../forms/form.ts'
import { orNull, Type } from '../forms/json-schema.ts'
import { boundedText, parseTime } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { conditionNames, country } from './conditions.ts'

/** The longest header or query of an assumed visit, in code points. */
const maxLength = 2_048

const query: Rule<string> = {
  schema: Type.String({
    maxLength,
    description:
      'The query of the visited URL, such as `utm_source=print`, encoded as browsers do. A first `?` is ignored.',
  }),
  parse: (text) => {
    const parsed = boundedText(maxLength, '').parse(text.startsWith('?') ? text.slice(1) : text)
    return typeof parsed === 'string' ? new URL(`http://localhost/?${parsed}`).search.slice(1) : parsed
  },
}

const time = Type.String({ format: 'date-time', description: 'The time of the visit (RFC 3339). Default: now.' })
const described = (rule: Rule<string>, description: string) => ({ ...rule, schema: { ...rule.schema, description } })

/** The assumed visit. Absent facts are unknown. */
export const explainQuery = form({
  country: optional(described(country, 'The country of the visitor (ISO 3166-1 alpha-2).'), null),
  user_agent: optional(boundedText(maxLength, 'The `User-Agent` header.'), null),
  accept_language: optional(boundedText(maxLength, 'The `Accept-Language` header.'), null),
  query: optional(query, null),
  at: optional({ schema: time, parse: parseTime }, null),
})

export type AssumedVisit = Readonly<Record<keyof (typeof explainQuery)['fields'], string | null>>

export const explanationKinds = ['redirect', 'password', 'preview', 'expired', 'not_found'] as const

export const explanationSchema = Type.Object(
  {
    status: Type.Integer({ description: 'The status of the response.' }),
    location: orNull(Type.String(), 'The location of a redirect, with the forwarded query.'),
    kind: Type.Enum([...explanationKinds], { description: '`not_found` also stands for a redirect to itself.' }),
    class: Type.Enum(['person', 'bot', 'preview'], { description: 'Rules only apply to a `person`.' }),
    rule: orNull(Type.String(), 'The name of the rule that decided the destination.'),
    variant: orNull(Type.Integer({ minimum: 1 }), 'The position of the destination among the rule’s `urls`.'),
    checks: Type.Array(
      Type.Object({
        rule: Type.String({ description: 'The name of the rule.' }),
        matches: Type.Boolean(),
        failed: Type.Array(Type.Enum([...conditionNames]), { description: 'All conditions that don’t match.' }),
      }),
      { description: 'All rules of the link, in order.' },
    ),
  },
  { $id: 'Explanation' },
)

/** The response that a visitor of a link would get, and why. */
export type Explanation = Static<typeof explanationSchema>

/** Explains a visit to the account's link, which the fields of `explainQuery` describe. Throws `not_found`, `validation_failed`. */
export type Explain = (account: number, id: number, fields: Fields) => Promise<Explanation>
