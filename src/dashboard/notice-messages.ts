/** What pages say about changes: before them, and in the notices about them. */
import { html, type Part } from '../http/html.ts'
import { quantity } from '../lib/format.ts'
import { maxTags } from '../links/link.ts'

/** What pages say before changes that the history can undo, and before the others. */
export const restorableNote = 'You can undo this in the history for 30 days.'
export const finalNote = 'You can’t undo this.'

export interface Notice {
  readonly code: keyof typeof messages
  readonly count?: number
  /** The number of records that could not be changed. */
  readonly failed?: number
  /** The record to name. */
  readonly id?: number | undefined
}

interface Facts {
  readonly count: number
  readonly failed: number
  /** Returns the record name, or the fallback if it is unknown. */
  readonly nameOr: (fallback: string) => Part
  /** What happened to a deleted record. */
  readonly deleted: 'deleted' | 'deleted permanently'
  /** Whether this is the first page after the change. Later pages only offer to undo it. */
  readonly isNew: boolean
}

type Messages = Readonly<Record<string, (facts: Facts) => Part>>

/** Messages about changes. */
export const changes = {
  // Scripts copy the short link once, and then say so.
  'link-created': ({ isNew }) => html`<span${isNew ? html` data-created` : null}>Link created.</span>`,
  'link-saved': () => 'Link saved. The change takes effect immediately.',
  'link-deleted': ({ nameOr, deleted }) => html`${nameOr('Link')} ${deleted}.`,
  'clicks-deleted': () => 'Statistics deleted.',
  'link-enabled': ({ nameOr }) => html`${nameOr('Link')} enabled.`,
  'link-disabled': ({ nameOr }) => html`${nameOr('Link')} disabled.`,
  'link-archived': ({ nameOr }) => html`${nameOr('Link')} archived. It keeps working.`,
  'link-unarchived': ({ nameOr }) => html`${nameOr('Link')} is in lists again.`,
  'address-created': () => 'Address added. It works immediately.',
  'address-deleted': () => 'Address deleted.',
  'links-enabled': several('enabled'),
  'links-disabled': several('disabled'),
  'links-archived': (facts) => `${several('archived')(facts)} Archived links keep working.`,
  'links-unarchived': several('unarchived'),
  'links-moved': ({ count, failed, nameOr }) =>
    html`${quantity(count, 'link')} moved to ${nameOr('another space')}.${failures(failed, 'moved')}`,
  'links-on-domain': ({ count, failed, nameOr }) =>
    html`${quantity(count, 'link')} moved to ${nameOr('another domain')}.${failures(failed, 'moved')}`,
  'links-without-space': ({ count, failed }) =>
    `${quantity(count, 'link')} moved to “No space”.${failures(failed, 'moved')}`,
  'links-tagged': ({ count, failed }) =>
    `Tags of ${quantity(count, 'link')} changed.${failed === 0 ? '' : `${failures(failed, 'changed')} A link has up to ${maxTags} tags.`}`,
  'links-deleted': several('deleted'),
  'link-changed': ({ nameOr }) => html`${nameOr('Link')} changed.`,
  'links-changed': several('changed'),
  'links-redirected': (facts) => `Destinations of ${several('changed')(facts)}`,
  'import-planned': () => 'The plan is up to date.',
  'oidc-connected': () => 'Connected. You can sign in this way from now on.',
  'account-saved': () => 'Account saved.',
  // The form accepts a URL and stores only its host.
  'domain-created': ({ nameOr }) => html`${nameOr('Domain')} added.`,
  'domain-saved': () => 'Domain saved.',
  'domain-reached': ({ nameOr }) => html`Visitors reach this server at ${nameOr('the domain')}.`,
  'qr-saved': () => 'QR code style saved. Codes that you downloaded before keep working.',
  'qr-reset': () => 'QR codes are black on white again.',
  'domain-deleted': ({ nameOr, deleted }) => html`${nameOr('Domain')} ${deleted}.`,
  'space-created': () => 'Space created.',
  'space-saved': () => 'Space saved.',
  'tag-created': () => 'Tag created.',
  'tag-saved': () => 'Tag saved. Its links show the change immediately.',
  'tag-merged': () => 'Tags merged. This tag has the links of both.',
  'tag-deleted': ({ deleted }) => `Tag ${deleted}. Its links keep working.`,
  'space-deleted': ({ deleted }) => `Space ${deleted}. Its links keep working.`,
  'key-revoked': () => 'Key revoked.',
  'signed-in': () => 'You’re already signed in. That sign-in link was used or has expired.',
  'invitation-revoked': () => 'Invitation revoked. Its link no longer works.',
  'role-changed': () => 'Role changed. It takes effect within seconds.',
  'member-removed': () => 'Member removed.',
  'profile-saved': () => 'Profile saved.',
  'account-joined': () => 'Welcome. You can now see this account.',
  'passkey-created': () => 'Passkey created. You can sign in with it from now on.',
  'passkey-removed': () => 'Passkey removed.',
  'session-ended': () => 'Session ended.',
  'sessions-ended': ({ count }) => `${quantity(count, 'session')} ended.`,
} as const satisfies Messages

/** Messages about requests that changed nothing. */
export const warnings = {
  'links-not-moved': () => 'No link was moved because all are on the domain already, or their aliases are taken there.',
  'links-not-redirected': () => 'No destination was changed because none has the text any more.',
  'import-changed': () => 'Your choices have changed the plan. Check it, then import.',
  'import-outdated': () =>
    'Something in the account has changed since the plan. This is the new plan: check it, then import.',
  'owner-kept': () =>
    'You stay an owner because the account has no other. Your groups at the sign-in service give you another role.',
  'links-gone': () => 'Nothing was changed because the links no longer exist.',
  'domain-private': ({ nameOr }) => html`${nameOr('The domain')} has a private address, so Waymark didn’t check it.`,
  'domain-not-reached': ({ nameOr }) => html`Visitors don’t reach this server at ${nameOr('the domain')}.`,
  'key-created-before': () =>
    'The key was created when you first pressed the button, and it’s shown only once. If you didn’t copy it, revoke it and create another key.',
  'invitation-created-before': () =>
    'The invitation was created when you first pressed the button, and its link is shown only once. If you didn’t copy it, revoke it and invite again.',
} as const satisfies Messages

/** Messages after an undo, which ends its offer. */
export const undone = {
  'changes-undone': ({ count, failed }) =>
    `${count === 1 ? 'Change' : quantity(count, 'change')} undone.${failed === 0 ? '' : ` ${notUndone(quantity(failed, 'other'))}`}`,
  'changes-not-undone': ({ count }) => notUndone(quantity(count, 'change')),
  'nothing-to-undo': () => 'Nothing was left to undo.',
} as const satisfies Messages

export const messages = { ...changes, ...warnings, ...undone }

/** Returns the message about several links: "2 links enabled. 1 other couldn’t be enabled." */
function several(change: string): (facts: Facts) => string {
  return ({ count, failed }) => `${quantity(count, 'link')} ${change}.${failures(failed, change)}`
}

function failures(count: number, change: string): string {
  return count === 0 ? '' : ` ${quantity(count, 'other')} couldn’t be ${change}.`
}

function notUndone(changes: string): string {
  return `${changes} couldn’t be undone because the records were changed since, or others that they need are gone.`
}
