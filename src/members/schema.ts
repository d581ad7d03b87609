/** Members and invitations: their records, forms and operations in the API. */

import type { Static } from 'typebox'
import { roles } from '../access/roles.ts'
import { bodyFailures, describeReads, idempotencyFailures, type Operation } from '../api/operations.ts'
import { withWarnings } from '../api/warnings.ts'
import { change, clearable, fixed, form, optional, type Rule, required } from '../forms/form.ts'
import { assignedFields, idSchema, orNull, Type, timeSchema, timestamps } from '../forms/json-schema.ts'
import { createListQuery, type PageQuery, pageConflicts, pageFields } from '../forms/list-query.ts'
import { boundedText, oneOf, parseTime } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import { Refusal } from '../violations.ts'

export const memberName = boundedText(255, 'The name of the member.')
const role = oneOf(roles, 'What the member may do: the scopes of the role.')

const emailText = boundedText(
  255,
  'Someone who joins by OpenID Connect must have this verified email address. No mail is sent.',
)

/** Rejects texts that certainly are no address. Only the provider knows which addresses exist. */
const emailAddress: Rule<string> = {
  schema: emailText.schema,
  parse: (text) => {
    const email = emailText.parse(text)
    if (typeof email !== 'string' || /^[^@\s]+@[^@\s]+$/.test(email)) return email
    return new Refusal('not_allowed', { options: 'an email address, such as ana@example.com' })
  },
}

const accessEnd = 'When the member is removed, as `DELETE` does.'

const accessEndTime: Rule<string> = {
  schema: Type.String({ description: `${accessEnd} In the future, in RFC 3339, or \`YYYY-MM-DD HH:MM\` in UTC.` }),
  parse: (text) => {
    const time = parseTime(text)
    return typeof time === 'string' && Date.parse(time) <= Date.now() ? new Refusal('not_in_future') : time
  },
}

/** A member in responses. */
const memberSchema = Type.Object(
  {
    id: idSchema,
    name: Type.String({ description: 'The name of the member.' }),
    email: orNull(
      Type.String(),
      'The email address that OpenID Connect has verified, otherwise the one of the invitation.',
    ),
    role: Type.Enum([...roles], { description: 'What the member may do: the scopes of the role.' }),
    access_ends_at: orNull(timeSchema(accessEnd), accessEnd),
    sign_in: Type.Array(Type.Enum(['oidc', 'passkey']), {
      description: 'How the member can sign in, except with a one-time link.',
    }),
    last_seen_at: orNull(timeSchema('The time.'), 'When the member used the dashboard last, accurate to five minutes.'),
    ...timestamps,
  },
  { $id: 'Member', additionalProperties: false },
)

export type Member = Static<typeof memberSchema>

/** The name and email must be the stored ones, which clients may send back. */
export const updateMember = form(
  {
    role: change(role),
    access_ends_at: clearable(accessEndTime),
    name: fixed(Type.String({ readOnly: true, description: 'Cannot be changed. The current name may be sent.' })),
    email: fixed(
      Type.Union([Type.String(), Type.Null()], {
        readOnly: true,
        description: 'Cannot be changed. The current value may be sent.',
      }),
    ),
  },
  [...assignedFields, 'sign_in', 'last_seen_at'],
)

export const removeMemberQuery = form({
  keys: optional(
    oneOf(['keep'], 'If `keep`, the API keys that the member created stay valid. Otherwise, they are revoked.'),
    null,
  ),
})

const created_by = orNull(
  Type.Object({ id: idSchema, name: Type.String() }),
  'The member who created the invitation, or the API key that did. Null for the command line.',
)

const invitationFields = {
  id: idSchema,
  name: orNull(Type.String(), 'The suggested name of the member.'),
  email: orNull(Type.String(), 'Someone who joins by OpenID Connect must have this verified email address.'),
  role: Type.Enum([...roles], { description: 'The role of the new member.' }),
  access_ends_at: orNull(timeSchema(accessEnd), accessEnd),
  created_by,
  expires_at: timeSchema(
    'The time when the invitation expires: 7 days after its creation, or at `access_ends_at` if that is earlier.',
  ),
  created_at: timestamps.created_at,
}

/** An invitation in responses. */
const invitationSchema = Type.Object(invitationFields, { $id: 'Invitation', additionalProperties: false })

export type Invitation = Static<typeof invitationSchema>

const url = Type.String({
  format: 'uri',
  description: 'The link to send to the person. Missing in a replayed response, because the server does not store it.',
})

const newInvitationSchema = Type.Object(
  { ...invitationFields, url },
  { $id: 'NewInvitation', additionalProperties: false, required: Object.keys(invitationFields) },
)

export const storeInvitation = form({
  role: required(role),
  name: optional(boundedText(255, 'The suggested name of the member.'), null),
  email: optional(emailAddress, null),
  access_ends_at: optional(accessEndTime, null),
})

const memberExample: Member = {
  id: 2,
  name: 'Ana Kovač',
  email: 'ana@acme.com',
  role: 'editor',
  access_ends_at: null,
  sign_in: ['passkey'],
  last_seen_at: '2026-11-22T08:30:00.000Z',
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
}

const invitationExample: Invitation = {
  id: 1,
  name: 'Ana Kovač',
  email: 'ana@acme.com',
  role: 'editor',
  access_ends_at: null,
  created_by: { id: 1, name: 'Owner' },
  expires_at: '2026-11-27T12:00:00.000Z',
  created_at: '2026-11-20T12:00:00.000Z',
}

const memberReads = describeReads('members', {
  description: 'The people in the account. Each has a role.',
  record: memberSchema,
  example: memberExample,
  listQuery: createListQuery(resources.members),
  scope: 'members:read',
})

const patch: Operation & Required<Pick<Operation, 'body'>> = {
  ...memberReads.show,
  id: 'updateMember',
  method: 'PATCH',
  summary: 'Change the role of a member, or the end of their access',
  description:
    'Changes the role of a member, for open sessions too, and when their access ends. Nothing else can be changed. At least one owner needs access without an end. PUT and PATCH do the same. The next sign-in by OpenID Connect sets the role again if it comes from `OIDC_ROLES`.',
  scope: 'members:write',
  body: { name: 'UpdateMember', form: updateMember, example: { role: 'admin' } },
  success: {
    ...memberReads.show.success,
    description: 'The updated member.',
    schema: withWarnings(memberSchema),
    example: { data: { ...memberExample, role: 'admin' } },
  },
  failures: ['not_found', 'precondition_failed', 'last_owner', ...bodyFailures],
}

export const memberOperations = {
  ...memberReads,
  put: { ...patch, method: 'PUT', id: 'updateMemberByPut', summary: `${patch.summary} (PUT)` } as typeof patch,
  patch,
  delete: {
    ...memberReads.show,
    id: 'removeMember',
    method: 'DELETE',
    summary: 'Remove a member',
    description:
      'Removes a member from the account. Their sessions, sign-in links and open invitations end, and the keys that they created are revoked. This can’t be undone. The id is never reused. A body is ignored.',
    scope: 'members:write',
    query: removeMemberQuery,
    refused: { keys: 'all' },
    success: { status: 204, description: 'The member is removed.' },
    failures: ['not_found', 'precondition_failed', 'last_owner', 'validation_failed'],
  } as Operation,
}

const invitationsQuery = form<PageQuery>(
  pageFields([], 'The field to sort by. Ids are in the order of creation.'),
  [],
  pageConflicts,
)

const { list, show } = describeReads('invitations', {
  description: 'Links with which people join the account. Each is for one person. Waymark sends no mail.',
  record: invitationSchema,
  example: invitationExample,
  listQuery: invitationsQuery,
  scope: 'members:read',
})

export const invitationOperations = {
  list: { ...list, description: 'Lists the account’s open invitations in pages, newest first by default.' },
  show: { ...show, description: 'Shows one of the account’s open invitations, without its secret link.' },
  store: {
    tag: list.tag,
    path: list.path,
    id: 'storeInvitation',
    method: 'POST',
    summary: 'Create an invitation',
    description:
      'Creates an invitation, which is valid for 7 days and for one person. Send them its `url`, because Waymark sends no mail. At most 100 invitations are open. Only a hash of the secret in the URL is stored, so a replayed response has no `url`. If you lost it, delete the invitation and create another.',
    scope: 'members:write',
    body: { name: 'StoreInvitation', form: storeInvitation, example: { role: 'editor', name: 'Ana Kovač' } },
    refused: { role: 'boss' },
    headers: ['Idempotency-Key'],
    success: {
      status: 201,
      description: 'The new invitation, with its URL.',
      schema: withWarnings(newInvitationSchema),
      example: {
        data: {
          ...invitationExample,
          url: 'https://links.example.com/app/join#wmi_JZk2yY4tK0m3Qw1bVd5uXr7sTn9pLc8aGh6fEj0iOoU',
        },
      },
      headers: ['Location', 'ETag', 'Idempotency-Replayed'],
    },
    failures: [...bodyFailures, ...idempotencyFailures],
  } as Operation & Required<Pick<Operation, 'body'>>,
  delete: {
    ...show,
    id: 'deleteInvitation',
    method: 'DELETE',
    summary: 'Delete an invitation',
    description: 'Deletes an open invitation, so that no one can join with it. A body is ignored.',
    scope: 'members:write',
    success: { status: 204, description: 'The invitation is deleted.' },
    failures: ['not_found', 'precondition_failed'],
  } as Operation,
}
