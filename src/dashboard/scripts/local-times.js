/** Shows and edits dates and times in the time zone of the browser. Forms send UTC with and without scripts. */

const exact = new Intl.DateTimeFormat('en-US', {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})

const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium' })

for (const field of dateFieldsIn(document)) makeLocal(field)
showLocalTimes(document)

/** @type {(within: ParentNode) => void} */
export function showLocalTimes(within) {
  for (const time of within.querySelectorAll('time[data-local]')) {
    if (time instanceof HTMLTimeElement) {
      const shown = time.dataset.local === 'day' ? day : exact
      time.textContent = shown.format(new Date(time.dateTime))
    }
  }
}

// Incomplete dates have no value, so the server would regard them as empty. Runs before other listeners.
document.addEventListener(
  'submit',
  (event) => {
    if (!(event.target instanceof HTMLFormElement)) return
    const incomplete = [...dateFieldsIn(event.target)].find(({ validity }) => validity.badInput)
    if (incomplete === undefined) return
    event.preventDefault()
    event.stopImmediatePropagation()
    incomplete.reportValidity()
  },
  true,
)

/** @type {(within: ParentNode) => NodeListOf<HTMLInputElement>} */
function dateFieldsIn(within) {
  return within.querySelectorAll('input[type="datetime-local"]')
}

/** Shows local time, and sends UTC in a hidden field. @type {(field: HTMLInputElement) => void} */
function makeLocal(field) {
  const sent = document.createElement('input')
  sent.type = 'hidden'
  sent.name = field.name
  sent.value = field.value
  field.removeAttribute('name')
  // As a default value, this is not an unsaved change.
  field.defaultValue = localTime(field.value)
  field.after(sent)
  field.addEventListener('input', () => {
    const date = new Date(field.value)
    // The server rejects an invalid time, next to the field.
    sent.value = Number.isNaN(date.getTime()) ? field.value : shortened(date)
  })
  const zone = field.labels?.[0]?.querySelector('[data-zone]')
  if (zone) zone.textContent = exact.resolvedOptions().timeZone
}

/** @type {(text: string) => string} */
function localTime(text) {
  const time = Date.parse(`${text}Z`)
  return Number.isNaN(time) ? text : shortened(new Date(time - new Date(time).getTimezoneOffset() * 60_000))
}

/** @type {(date: Date) => string} */
function shortened(date) {
  // Without zero seconds, as on the pages.
  const text = date.toISOString().slice(0, -1)
  return text.replace(/(?::00)?\.000$/, '')
}
