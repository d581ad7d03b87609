/** Reasons why people can't sign in with OpenID Connect. Texts of the provider are never shown. */

export const problems = {
  unavailable: {
    title: 'The sign-in service isn’t available',
    text: 'It doesn’t respond as expected. Try again in a minute. If it still fails, ask the administrator of this server: its log has the reason. A one-time sign-in link works meanwhile.',
  },
  secret_rejected: {
    title: 'This server can’t use the sign-in service',
    text: 'The sign-in service rejected the client secret of this server. Ask its administrator to correct it: the server’s log says how. A one-time sign-in link works meanwhile.',
  },
  misconfigured: {
    title: 'This server can’t use the sign-in service',
    text: 'The sign-in service rejected a setting of this server. Ask its administrator to correct it: the server’s log says which one. A one-time sign-in link works meanwhile.',
  },
  rejected: {
    title: 'The sign-in failed',
    text: 'The response of the sign-in service isn’t valid. Try again. If it still fails, ask the administrator of this server: its log has the reason.',
  },
  denied: {
    title: 'The sign-in was canceled',
    text: 'The sign-in service reports “access_denied”: you canceled, or you may not use this application.',
  },
  stale: {
    title: 'This sign-in has expired',
    text: 'It was started in another browser or tab, was completed already, or took more than 10 minutes. Start again.',
  },
  foreign: {
    title: 'Start on the page itself',
    text: 'Another site opened this page. Open your profile or your invitation in this browser, and start there.',
  },
  signed_out: {
    title: 'Sign in first',
    text: 'Your session ended before the account could be connected. Sign in, and start again on your profile.',
  },
  no_access: {
    title: 'You don’t have access yet',
    text: 'You signed in, but you aren’t a member. Ask an owner of this Waymark account to invite you, or ask for one of the groups that have access.',
  },
  role_lost: {
    title: 'You don’t have access any more',
    text: 'The sign-in service no longer reports a group that has access. Ask the administrator of your groups, or an owner of this Waymark account.',
  },
  groups_omitted: {
    title: 'Your groups are missing',
    text: 'The sign-in service left out your groups, because there are too many (“_claim_names”). Ask its administrator to send only the groups of this application, or app roles.',
  },
  no_account: {
    title: 'This server isn’t set up completely',
    text: 'It has several accounts, or none. Ask its administrator to set OIDC_ACCOUNT to the ID of the account to join.',
  },
  invitation_over: {
    title: 'This invitation isn’t valid any more',
    text: 'It was used or deleted, or it has expired. Ask for a new invitation.',
  },
  email_unverified: {
    title: 'Your email address isn’t verified',
    text: 'The invitation is for an email address, and the sign-in service doesn’t confirm yours (“email_verified” isn’t true). Ask its administrator to send “email_verified” (Authentik needs a scope mapping), or ask for an invitation without an email address.',
  },
  email_differs: {
    title: 'This invitation is for someone else',
    text: 'It’s for a different email address. Sign in as the invited person, or ask for a new invitation.',
  },
  already_member: {
    title: 'You’re already a member',
    text: 'You’re a member of the account that this invitation is for. Sign in without the invitation.',
  },
  connected_elsewhere: {
    title: 'This sign-in belongs to someone else',
    text: 'The account at the sign-in service is connected to another person here. An owner can remove that person first.',
  },
  already_connected: {
    title: 'You’re already connected',
    text: 'You’re connected to another account at the same sign-in service. Nothing was changed.',
  },
} as const satisfies Readonly<Record<string, { title: string; text: string }>>

export type Problem = keyof typeof problems

/** Problems that only the administrator can solve, if trying again doesn't help. */
export const serverProblems: readonly Problem[] = ['unavailable', 'secret_rejected', 'misconfigured']

/** Returns whether a text of a URL is the code of a problem. */
export function isProblem(text: unknown): text is Problem {
  return typeof text === 'string' && Object.hasOwn(problems, text)
}
