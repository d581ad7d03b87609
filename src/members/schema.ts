/** Members: people in an account. */

import type { Static } from 'typebox'
import { roles } from '../access/roles.ts'
import { idSchema, orNull, Type, timeSchema, timestamps } from '../forms/json-schema.ts'
import { boundedText } from '../forms/rules.ts'

export const memberName = boundedText(255, 'The name of the member.')

/** A member in responses. */
export const memberSchema = Type.Object(
  {
    id: idSchema,
    name: Type.String({ description: 'The name of the member.' }),
    email: orNull(
      Type.String(),
      'The email address that OpenID Connect has verified, otherwise the one of the invitation.',
    ),
    role: Type.Enum([...roles], { description: 'What the member may do: the scopes of the role.' }),
    sign_in: Type.Array(Type.Enum(['oidc', 'passkey']), {
      description: 'How the member can sign in, except with a one-time link.',
    }),
    last_seen_at: orNull(timeSchema('The time.'), 'When the member used the dashboard last, accurate to five minutes.'),
    ...timestamps,
  },
  { $id: 'Member', additionalProperties: false },
)

export type Member = Static<typeof memberSchema>
