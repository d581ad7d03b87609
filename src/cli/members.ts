/** The commands on members and invitations. */
import { openActions } from '../app/local.ts'
import { StartupFailure } from '../errors.ts'
import { forgetMember } from '../members/forgetting.ts'
import {
  type Invitation,
  invitationOperations,
  type Member,
  memberOperations,
  storeInvitation,
} from '../members/schema.ts'
import { memberRecords } from '../members/store.ts'
import { program } from '../version.ts'
import { accountCommand } from './accounts.ts'
import { flag, invitationId, removedMemberId, required, text } from './arguments.ts'
import { formOptions } from './form-options.ts'
import { warnUnlessListening } from './instance.ts'
import { listCommand, operationCommand } from './operation-command.ts'
import { json, table } from './output.ts'
import { memberSubject } from './references.ts'

const asJson = 'print the record as JSON'
const { role: described } = formOptions(storeInvitation)
const role = required(String(described?.placeholder), String(described?.help), text)

export const memberCommands = {
  list: listCommand<Member>({
    summary: 'List the members of the account, newest first.',
    operation: memberOperations.list,
    name: 'members of the account',
    print: memberTable,
  }),

  role: operationCommand<Member>({
    summary: 'Change the role of a member, for their open sessions too, or the end of their access.',
    notes: 'The next sign-in by OpenID Connect sets the role again if it comes from OIDC_ROLES.',
    operation: memberOperations.patch,
    subject: memberSubject,
    except: ['name', 'email'],
    json: asJson,
    print: ({ name, role, access_ends_at: at }) => `${name} has the role ${role}${at === null ? '' : ` until ${at}`}.`,
  }),

  remove: operationCommand<Member>({
    summary: 'Remove a member: end their sessions, and revoke the keys that they created.',
    notes: `Running servers end the sessions immediately, and reject the keys within 10 seconds. The name stays in the history, unless
you run "${program} members forget".`,
    operation: memberOperations.delete,
    subject: memberSubject,
    json: 'print the removed member as JSON',
    confirm: ({ name }, { keys }) =>
      `Remove ${name}? ${keys === undefined ? 'The keys that they created are revoked.' : 'Their keys stay valid.'}`,
    declined: 'No one removed.',
    print: ({ name }) => `${name} was removed.`,
  }),

  forget: accountCommand({
    summary: 'Replace the name and email address of a removed member in the history.',
    arguments: {
      operand: required('ID', 'the ID of the removed member', removedMemberId),
      json: flag('print the ID as JSON'),
    },
    notes: `The ID is the "record_id" of the event member.removed: "${program} history --type member.removed --json". Exports and
backups that exist already keep the name.`,
    run: async (db, { operand: id, json: isJson }, { account }) => {
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
  const lines = members.map(({ id, name, email, role, sign_in, last_seen_at, access_ends_at }) => [
    ...[String(id), name, email ?? '-', role, sign_in.join(',') || '-', last_seen_at ?? 'never', access_ends_at ?? '-'],
  ])
  return table([['ID', 'NAME', 'EMAIL', 'ROLE', 'SIGN IN', 'LAST SEEN', 'ACCESS ENDS'], ...lines])
}

function invitationTable(invitations: readonly Invitation[]): string {
  const lines = invitations.map(({ id, name, email, role, created_by, expires_at }) => [
    ...[String(id), name ?? '-', email ?? '-', role, created_by?.name ?? '-', expires_at],
  ])
  return table([['ID', 'NAME', 'EMAIL', 'ROLE', 'CREATED BY', 'EXPIRES'], ...lines])
}

export const invitationCommands = {
  create: operationCommand<Invitation & { readonly url: string }>({
    summary: 'Print a link with which one person can join the account within 7 days.',
    notes: 'Send the link to the person. It is shown only once, because the database has only a hash of its secret.',
    operation: invitationOperations.store,
    arguments: { role },
    json: 'print the record as JSON, with the link as "url"',
    print: ({ url }) => url,
    after: ({ url }, { err }) => warnUnlessListening(new URL(url).origin, err),
  }),

  list: listCommand<Invitation>({
    summary: 'List the open invitations, newest first.',
    operation: invitationOperations.list,
    name: 'open invitations',
    print: invitationTable,
  }),

  revoke: operationCommand<Invitation>({
    summary: 'Delete an open invitation, so that no one can join with it.',
    operation: invitationOperations.delete,
    subject: {
      arguments: {
        operand: required('ID', `the ID of the invitation, as shown by "${program} invitations list"`, invitationId),
      },
      choose: async (client, { operand }) =>
        (await client.call<Invitation>(invitationOperations.show, { id: Number(operand) })).data,
    },
    json: 'print the deleted invitation as JSON',
    print: ({ id }) => `Invitation ${id} was revoked.`,
  }),
}
