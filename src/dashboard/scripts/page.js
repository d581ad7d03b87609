/** Another page of the dashboard, fetched. */

/**
 * The document at the address, or null when that is not a page to show in this one: the session is over, or it failed.
 * @type {(address: string | URL, signal?: AbortSignal) => Promise<Document | null>}
 */
export async function fetchPage(address, signal) {
  const answer = await fetch(address, { headers: { accept: 'text/html' }, ...(signal && { signal }) })
  const isAnotherPlace = answer.redirected && new URL(answer.url).pathname !== new URL(address, location.href).pathname
  if (!answer.ok || isAnotherPlace) return null
  return new DOMParser().parseFromString(await answer.text(), 'text/html')
}
