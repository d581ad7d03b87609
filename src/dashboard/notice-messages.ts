/** What pages say before changes, and what notices say that isn't in the events of a change. */
import { quantity } from '../lib/format.ts'
import { maxTags } from '../links/link.ts'

/** What pages say before changes that the history can undo, and before the others. */
export const restorableNote = 'You can undo this in the history for 30 days.'
export const finalNote = 'You can’t undo this.'

/** A notice says what the events of the form's batch say, and then what isn't an event. */
export type Notice = 'changes' | { readonly code: Remark; readonly count?: number }

type Messages = Readonly<Record<string, (count: number) => string>>

const done = {
  'signed-in': () => 'You’re already signed in. That sign-in link was used or has expired.',
  'account-joined': () => 'Welcome. You can now see this account.',
  'oidc-connected': () => 'Connected. You can sign in this way from now on.',
  'passkey-created': () => 'Passkey created. You can sign in with it from now on.',
  'passkey-removed': () => 'Passkey removed.',
  'profile-saved': () => 'Profile saved.',
  'sessions-ended': (count) => `${quantity(count, 'session')} ended.`,
  'import-planned': () => 'The plan is up to date.',
  'domain-reached': () => 'Visitors reach this server at the domain.',
} as const satisfies Messages

const warnings = {
  stayed: (count) => `${quantity(count, 'link')} couldn’t be changed.`,
  'too-many-tags': (count) => `${quantity(count, 'link')} couldn’t be changed. A link has up to ${maxTags} tags.`,
  'links-stayed': () => 'Nothing was changed because the links no longer exist, or can’t be changed like this.',
  'not-undone': (count) =>
    `${quantity(count, 'change')} couldn’t be undone because the records were changed since, or others that they need are gone.`,
  'nothing-to-undo': () => 'Nothing was left to undo.',
  'import-changed': () => 'Your choices have changed the plan. Check it, then import.',
  'import-outdated': () =>
    'Something in the account has changed since the plan. This is the new plan: check it, then import.',
  'owner-kept': () =>
    'You stay an owner because the account has no other. Your groups at the sign-in service give you another role.',
  'domain-private': () => 'The domain has a private address, so Waymark didn’t check it.',
  'domain-not-reached': () => 'Visitors don’t reach this server at the domain.',
  'key-created-before': () =>
    'The key was created when you first pressed the button, and it’s shown only once. If you didn’t copy it, revoke it and create another key.',
  'invitation-created-before': () =>
    'The invitation was created when you first pressed the button, and its link is shown only once. If you didn’t copy it, revoke it and invite again.',
} as const satisfies Messages

export const remarks = { ...done, ...warnings }
export type Remark = keyof typeof remarks

/** Returns whether a remark says that something was not done. */
export function isWarning(code: Remark): boolean {
  return code in warnings
}
