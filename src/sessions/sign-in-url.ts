/**
 * The address that signs in with the token. `base` has no slash at its end. The token is in the fragment, which browsers
 * send to no server and in no Referer, so that no log on the way has it.
 */
export function signInUrl(base: string, token: string): string {
  return `${base}/app/sign-in#${token}`
}
