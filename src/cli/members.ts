/** The commands on members and invitations. They use the forms, checks and stores of the API. */

import { found, StartupFailure } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import { listActiveMemberKeys } from '../keys/store.ts'
import { quantity } from '../lib/format.ts'
import { removeMember } from '../members/changes.ts'
import { forgetMember } from '../members/forgetting.ts'
import { createInvitation, deleteInvitation, findInvitation } from '../members/invitations.ts'
import { listMembers, listShownInvitations, toInvitation, updateRole } from '../members/routes.ts'
import {
  type Invitation,
  invitationOperations,
  type Member,
  memberOperations,
  removeMemberQuery,
  storeInvitation,
} from '../members/schema.ts'
import { memberRecords, memberWarnings, toMember } from '../members/store.ts'
import { invitationUrl } from '../sessions/token.ts'
import type { Db } from '../storage/port.ts'
import { program } from '../version.ts'
import { warningsAbout } from '../warnings.ts'
import { accountCommand } from './accounts.ts'
import { openActions } from './actions.ts'
import { flag, required, text, WrongUse } from './arguments.ts'
import { checkedFields, givenFields, optionsOf, submit, writeWarnings } from './form-options.ts'
import { isConfirmed, json, table } from './output.ts'
import { chooseMember } from './references.ts'
import { listCommand } from './resources.ts'
import { findDashboard, warnUnlessListening } from './server.ts'

const asJson = flag('print the record as JSON')
const memberOperand = required('MEMBER', 'the ID or email address of the member', text)
const updateForm = memberOperations.patch.body.form

/** Returns the options with `--role` as a required one in the usage. */
function withRole({ role, ...others }: ReturnType<typeof optionsOf>): ReturnType<typeof optionsOf> {
  return { ...(role && { role: { ...role, isRequired: true } }), ...others }
}

export const memberCommands = {
  list: listCommand('members of the account', memberOperations.list.query, listMembers, memberTable),

  role: accountCommand({
    summary: 'Change the role of a member, for their open sessions too.',
    arguments: {
      operand: memberOperand,
      ...withRole(optionsOf(updateForm, ['name', 'email'])),
      json: asJson,
    },
    notes: 'The next sign-in by OpenID Connect sets the role again if it comes from OIDC_ROLES.',
    run: async (db, { operand, account, actor, json: isJson, ...options }, terminal) => {
      const fields = givenFields(updateForm, options)
      if (fields.role === undefined) throw new WrongUse('--role is required.')
      const { id } = await chooseMember(db, account, operand)
      const { record } = await submit(updateForm, fields, () => updateRole(db, actor, id, fields, null))
      writeWarnings(terminal, warningsAbout(memberWarnings(record), fields))
      return isJson ? json(toMember(record)) : `${record.name} has the role ${record.role}.`
    },
  }),

  remove: accountCommand({
    summary: 'Remove a member: end their sessions, and revoke the keys that they created.',
    arguments: {
      operand: memberOperand,
      ...optionsOf(removeMemberQuery),
      yes: flag('do not ask for confirmation (required without a terminal)'),
      json: flag('print the removed member as JSON'),
    },
    notes: `Running servers end the sessions immediately, and reject the keys within 10 seconds. The name stays in the history, unless
you run "${program} members forget".`,
    run: async (db, { operand, yes, account, actor, json: isJson, ...options }, terminal) => {
      const { keys } = checkedFields(removeMemberQuery, givenFields(removeMemberQuery, options))
      const member = await chooseMember(db, account, operand)
      const question = `Remove ${member.name}?${await effectOnKeys(db, account, member, keys === 'keep')}`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'No one removed.', code: 1 }
      await removeMember(db, actor, member.id, { keepsKeys: keys === 'keep', precondition: null })
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
    run: async (db, { operand, account, json: isJson }) => {
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

/** Returns what happens to the active keys that a member created, as a sentence; '' if there are none. */
async function effectOnKeys(db: Db, account: number, { id }: Member, keepsKeys: boolean): Promise<string> {
  const own = await listActiveMemberKeys(db, account, id)
  if (own.length === 0) return ''
  const keys = `${quantity(own.length, 'key')} (${own.map(({ name }) => name).join(', ')})`
  return ` This ${keepsKeys ? 'keeps' : 'revokes'} ${keys}.`
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
  create: accountCommand({
    summary: 'Print a link with which one person can join the account within 7 days.',
    arguments: {
      ...withRole(optionsOf(storeInvitation)),
      json: flag('print the record as JSON, with the link as "url"'),
    },
    notes: 'Send the link to the person. It is shown only once, because the database has only a hash of its secret.',
    run: async (db, { account: _, actor, json: isJson, ...options }, { err }) => {
      const values = checkedFields(storeInvitation, givenFields(storeInvitation, options))
      const base = await findDashboard(db)
      const { invitation, secret } = await createInvitation(db, actor, values)
      const url = invitationUrl(base, secret)
      await warnUnlessListening(base, err)
      return isJson ? json({ ...toInvitation(invitation.record), url }) : url
    },
  }),

  list: listCommand('open invitations', invitationOperations.list.query, listShownInvitations, invitationTable),

  revoke: accountCommand({
    summary: 'Delete an open invitation, so that no one can join with it.',
    arguments: {
      operand: required('ID', `the ID of the invitation, as shown by "${program} invitations list"`, text),
      json: flag('print the deleted invitation as JSON'),
    },
    run: async (db, { operand, account, actor, json: isJson }) => {
      const id = positiveInteger(operand)
      if (id === undefined) throw new WrongUse('ID must be the ID of an invitation.')
      const { record } = found(await findInvitation(db, account, id), 'invitation')
      await deleteInvitation(db, actor, id)
      return isJson ? json(toInvitation(record)) : `Invitation ${id} was revoked.`
    },
  }),
}
