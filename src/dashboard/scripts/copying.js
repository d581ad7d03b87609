/** Buttons with `data-copy` copy its text and say "Copied" for two seconds. */
import { announce } from './announce.js'

const saidFor = 2_000

/** @type {WeakMap<HTMLElement, number>} */
const timers = new WeakMap()

export function watchCopying() {
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest('[data-copy]') : null
    if (!(button instanceof HTMLElement)) return
    if (await copied(button.dataset.copy ?? '', button)) say(button)
  })
}

/** @type {(button: HTMLElement) => void} */
function say(button) {
  announce('Copied')
  button.dataset.copied = ''
  clearTimeout(timers.get(button))
  timers.set(
    button,
    setTimeout(() => delete button.dataset.copied, saidFor),
  )
}

/**
 * Whether the text is on the clipboard.
 * @type {(text: string, beside: HTMLElement) => Promise<boolean>}
 */
async function copied(text, beside) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Browsers have no clipboard for pages on plain http; the older way needs a selected text, inside an open dialog too.
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'hidden-text'
    beside.after(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    beside.focus()
    return isDone
  }
}
