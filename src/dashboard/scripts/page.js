/** Returns null if it fails. @type {(address: string | URL, signal?: AbortSignal) => Promise<Document | null>} */
export async function fetchPage(address, signal) {
  const answer = await fetch(address, { headers: { accept: 'text/html' }, ...(signal && { signal }) })
  const isAnotherPage = answer.redirected && new URL(answer.url).pathname !== new URL(address, location.href).pathname
  if (!answer.ok || isAnotherPage) return null
  return new DOMParser().parseFromString(await answer.text(), 'text/html')
}

/** @type {(words: string) => void} */
export function announce(words) {
  // Screen readers ignore everything outside an open dialog.
  const parent = document.querySelector('dialog[open]') ?? document.body
  const present = parent.querySelector(':scope > .announcer')
  const region = present ?? document.createElement('div')
  if (present === null) {
    region.className = 'announcer hidden-text'
    region.setAttribute('role', 'status')
    parent.append(region)
  }
  // Screen readers skip an unchanged text, and the first text of a new region.
  region.textContent = ''
  setTimeout(() => region.append(words), 50)
}
