/** Shows and edits dates and times in the time zone of the browser. Forms send UTC with and without scripts. */

const exact = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})

export function watchLocalTimes() {
  const { timeZone } = exact.resolvedOptions()
  for (const field of document.querySelectorAll('input[type="datetime-local"]')) {
    if (field instanceof HTMLInputElement) makeLocal(field, timeZone)
  }
  for (const time of document.querySelectorAll('time[data-local]')) {
    if (time instanceof HTMLTimeElement) time.textContent = exact.format(new Date(time.dateTime))
  }
  // Runs first, so that no other listener regards the form as sent.
  document.addEventListener('submit', rejectPartialDates, true)
}

/**
 * Rejects incomplete dates. Their fields have no value, so the server would regard them as empty.
 * @type {(event: SubmitEvent) => void}
 */
function rejectPartialDates(event) {
  if (!(event.target instanceof HTMLFormElement)) return
  for (const field of event.target.querySelectorAll('input[type="datetime-local"]')) {
    if (!(field instanceof HTMLInputElement) || !field.validity.badInput) continue
    event.preventDefault()
    event.stopImmediatePropagation()
    field.reportValidity()
    return
  }
}

/**
 * Shows local time in the field, and sends UTC in a hidden field with its name.
 * @type {(field: HTMLInputElement, zone: string) => void}
 */
function makeLocal(field, zone) {
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
  const named = field.labels?.[0]?.querySelector('[data-zone]')
  if (named) named.textContent = zone
}

/**
 * Converts a UTC time to local time. Returns other text unchanged.
 * @type {(text: string) => string}
 */
function localTime(text) {
  const time = Date.parse(`${text}Z`)
  return Number.isNaN(time) ? text : shortened(new Date(time - new Date(time).getTimezoneOffset() * 60_000))
}

/**
 * Formats a time without zero seconds, as the pages do.
 * @type {(date: Date) => string}
 */
function shortened(date) {
  return date
    .toISOString()
    .slice(0, -1)
    .replace(/(?::00)?\.000$/, '')
}
