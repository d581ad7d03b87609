/** The commands on members and invitations. */
import { StartupFailure } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import { forgetMember } from '../members/forgetting.ts'
import {
  type Invitation,
  invitationOperations,
  type Member,
  memberOperations,
  removeMemberQuery,
  storeInvitation,
} from '../members/schema.ts'
import { memberRecords } from '../members/store.ts'
import { program } from '../version.ts'
import { accountCommand } from './accounts.ts'
import { openActions } from './actions.ts'
import { flag, required, text, WrongUse } from './arguments.ts'
import { apiCommand } from './client.ts'
import { formOptions, givenFields } from './form-options.ts'
import { warnUnlessListening } from './instance.ts'
import { listCommand } from './lists.ts'
import { isConfirmed, json, table } from './output.ts'
import { chooseMember } from './references.ts'

const asJson = flag('print the record as JSON')
const memberOperand = required('MEMBER', 'the ID or email address of the member', text)
const updateForm = memberOperations.patch.body.form

/** Returns the options with `--role` as a required one in the usage. */
function withRole({ role, ...others }: ReturnType<typeof formOptions>): ReturnType<typeof formOptions> {
  return { ...(role && { role: { ...role, isRequired: true } }), ...others }
}

export const memberCommands = {
  list: listCommand('members of the account', memberOperations.list, memberTable),

  role: apiCommand({
    summary: 'Change the role of a member, for their open sessions too.',
    arguments: {
      operand: memberOperand,
      ...withRole(formOptions(updateForm, ['name', 'email'])),
      json: asJson,
    },
    notes: 'The next sign-in by OpenID Connect sets the role again if it comes from OIDC_ROLES.',
    run: async (client, { operand, json: isJson, ...options }) => {
      const fields = givenFields(updateForm, options)
      if (fields.role === undefined) throw new WrongUse('--role is required.')
      const { id } = await chooseMember(client, operand)
      const { data } = await client.call<Member>(memberOperations.patch, { id, fields })
      return isJson ? json(data) : `${data.name} has the role ${data.role}.`
    },
  }),

  remove: apiCommand({
    summary: 'Remove a member: end their sessions, and revoke the keys that they created.',
    arguments: {
      operand: memberOperand,
      ...formOptions(removeMemberQuery),
      yes: flag('do not ask for confirmation (required without a terminal)'),
      json: flag('print the removed member as JSON'),
    },
    notes: `Running servers end the sessions immediately, and reject the keys within 10 seconds. The name stays in the history, unless
you run "${program} members forget".`,
    run: async (client, { operand, yes, json: isJson, ...options }, terminal) => {
      const fields = givenFields(removeMemberQuery, options)
      const member = await chooseMember(client, operand)
      const effect = fields.keys === undefined ? 'The keys that they created are revoked.' : 'Their keys stay valid.'
      const question = `Remove ${member.name}? ${effect}`
      client.check(memberOperations.delete, { fields })
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'No one removed.', code: 1 }
      await client.call(memberOperations.delete, { id: member.id, fields })
      return isJson ? json(member) : `${member.name} was removed.`
    },
  }),

  forget: accountCommand({
    summary: 'Replace the name and email address of a removed member in the history.',
    arguments: {
      operand: required('ID', 'the ID of the removed member', text),
      json: flag('print the ID as JSON'),
    },
    notes: `The ID is the "record_id" of the event member.removed: "${program} history --type member.removed --json". Exports and
backups that exist already keep the name.`,
    run: async (db, { operand, json: isJson }, { account }) => {
      const id = positiveInteger(operand)
      if (id === undefined) throw new WrongUse('ID must be the ID of a removed member.')
      const present = await memberRecords.find(db, account, id)
      if (present !== undefined) {
        const { name } = present.record
        throw new StartupFailure(`${name} is still a member. First, run "${program} members remove ${id}".`)
      }
      const { jobs } = await openActions(db)
      await forgetMember(db, jobs, account, id)
      return isJson ? json({ id }) : `The history no longer names member ${id}.`
    },
  }),
}

function memberTable(members: readonly Member[]): string {
  const lines = members.map(({ id, name, email, role, sign_in, last_seen_at }) => [
    ...[String(id), name, email ?? '-', role, sign_in.join(',') || '-', last_seen_at ?? 'never'],
  ])
  return table([['ID', 'NAME', 'EMAIL', 'ROLE', 'SIGN IN', 'LAST SEEN'], ...lines])
}

function invitationTable(invitations: readonly Invitation[]): string {
  const lines = invitations.map(({ id, name, email, role, created_by, expires_at }) => [
    ...[String(id), name ?? '-', email ?? '-', role, created_by?.name ?? '-', expires_at],
  ])
  return table([['ID', 'NAME', 'EMAIL', 'ROLE', 'CREATED BY', 'EXPIRES'], ...lines])
}

export const invitationCommands = {
  create: apiCommand({
    summary: 'Print a link with which one person can join the account within 7 days.',
    arguments: {
      ...withRole(formOptions(storeInvitation)),
      json: flag('print the record as JSON, with the link as "url"'),
    },
    notes: 'Send the link to the person. It is shown only once, because the database has only a hash of its secret.',
    run: async (client, { json: isJson, ...options }, { err }) => {
      const fields = givenFields(storeInvitation, options)
      const { data } = await client.call<Invitation & { readonly url: string }>(invitationOperations.store, { fields })
      await warnUnlessListening(new URL(data.url).origin, err)
      return isJson ? json(data) : data.url
    },
  }),

  list: listCommand('open invitations', invitationOperations.list, invitationTable),

  revoke: apiCommand({
    summary: 'Delete an open invitation, so that no one can join with it.',
    arguments: {
      operand: required('ID', `the ID of the invitation, as shown by "${program} invitations list"`, text),
      json: flag('print the deleted invitation as JSON'),
    },
    run: async (client, { operand, json: isJson }) => {
      const id = positiveInteger(operand)
      if (id === undefined) throw new WrongUse('ID must be the ID of an invitation.')
      const { data } = await client.call<Invitation>(invitationOperations.show, { id })
      await client.call(invitationOperations.delete, { id })
      return isJson ? json(data) : `Invitation ${id} was revoked.`
    },
  }),
}
