/** Says a few words to those who do not see the page. */

/** @type {(words: string) => void} */
export function announce(words) {
  // What lies outside an open dialog is not read aloud.
  const place = document.querySelector('dialog[open]') ?? document.body
  let region = place.querySelector(':scope > .announcer')
  if (region === null) {
    region = document.createElement('div')
    region.className = 'announcer hidden-text'
    region.setAttribute('role', 'status')
    place.append(region)
  }
  const said = region
  // A region that says the same twice is not heard twice, and one that has just come not at all.
  said.textContent = ''
  setTimeout(() => said.append(words), 50)
}
