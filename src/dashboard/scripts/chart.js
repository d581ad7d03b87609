/** Shows the value of a chart under the pointer, under a finger, or with the arrow keys. A click or Enter opens its page. */

/** @typedef {{ readonly x: number, readonly ys: readonly string[], readonly text: string, readonly href: string | null }} Point */

watchCharts(document)

/** @type {(within: ParentNode) => void} */
export function watchCharts(within) {
  for (const chart of within.querySelectorAll('.chart')) {
    const plot = /** @type {SVGSVGElement} */ (chart.querySelector('.chart-plot'))
    const output = /** @type {HTMLOutputElement} */ (chart.querySelector('.chart-reading'))
    makeReadable(plot, output)
  }
}

/** Turns a plot into a slider for screen readers. @type {(plot: SVGSVGElement, output: HTMLOutputElement) => void} */
function makeReadable(plot, output) {
  const points = pointsOf(plot)
  if (points.length === 0) return
  const last = points.length - 1
  let at = last

  const show = (/** @type {number} */ index) => {
    at = Math.min(last, Math.max(0, index))
    const point = /** @type {Point} */ (points[at])
    output.textContent = point.text
    set(plot, { 'aria-valuenow': at, 'aria-valuetext': point.text })
    mark(plot, point)
    follow(output, plot, point)
  }
  const rest = () => {
    output.textContent = ''
    mark(plot, null)
  }

  set(plot, { role: 'slider', tabindex: 0, 'aria-readonly': true, 'aria-valuemin': 0, 'aria-valuemax': last })
  set(plot, { 'aria-valuenow': at, 'aria-valuetext': points[at]?.text ?? '' })
  // Screen readers announce the value of the slider already.
  output.setAttribute('aria-live', 'off')

  const choose = (/** @type {PointerEvent} */ event) => {
    const { left, width } = plot.getBoundingClientRect()
    const x = ((event.clientX - left) / width) * 100
    const distances = points.map((point) => Math.abs(point.x - x))
    show(distances.indexOf(Math.min(...distances)))
  }
  plot.addEventListener('pointermove', choose)
  plot.addEventListener('pointerdown', choose)
  plot.addEventListener('pointerleave', (event) => {
    // On a touch screen, the value stays after the finger is lifted.
    if (event.pointerType === 'mouse' && document.activeElement !== plot) rest()
  })
  const open = (/** @type {boolean} */ inNewTab) => {
    const { href = null } = points[at] ?? {}
    if (href !== null) window.open(href, inNewTab ? '_blank' : '_self')
  }
  plot.addEventListener('click', (event) => {
    // A finger selects a value. The table has links.
    if (/** @type {PointerEvent} */ (event).pointerType === 'mouse') open(event.ctrlKey || event.metaKey)
  })
  plot.addEventListener('focus', () => show(at))
  plot.addEventListener('blur', rest)
  plot.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') open(event.ctrlKey || event.metaKey)
    const index = indexAfter(event, at, last)
    if (index === undefined) return
    event.preventDefault()
    show(index)
  })
}

/** @type {(plot: SVGSVGElement) => Point[]} */
function pointsOf(plot) {
  return [...plot.querySelectorAll('.chart-column')].map((column) => {
    const title = column.querySelector('title')
    const text = title?.textContent ?? ''
    // Browsers show titles as tooltips.
    title?.remove()
    const ys = (column.getAttribute('data-y') ?? '0').split(' ')
    const x = parseFloat(column.getAttribute('data-x') ?? '0')
    return { x, ys, text, href: column.getAttribute('data-href') }
  })
}

/** @type {(output: HTMLOutputElement, plot: SVGSVGElement, point: Point) => void} */
function follow(output, plot, { x, ys }) {
  const drawing = /** @type {HTMLElement} */ (output.parentElement).getBoundingClientRect()
  const { left, width } = plot.getBoundingClientRect()
  const middle = left - drawing.left + (width * x) / 100
  const most = drawing.width - output.offsetWidth
  output.style.left = `${Math.max(0, Math.min(most, middle - output.offsetWidth / 2))}px`
  output.style.bottom = `${drawing.height - Math.min(...ys.map(Number)) + 10}px`
}

/** @type {(event: KeyboardEvent, at: number, last: number) => number | undefined} */
function indexAfter({ key, altKey, ctrlKey, metaKey }, at, last) {
  if (altKey || ctrlKey || metaKey) return undefined
  const page = Math.max(1, Math.round(last / 4))
  const left = { ArrowLeft: at - 1, ArrowDown: at - 1, PageDown: at - page, Home: 0 }
  const right = { ArrowRight: at + 1, ArrowUp: at + 1, PageUp: at + page, End: last }
  return new Map(Object.entries({ ...left, ...right })).get(key)
}

/** @type {(plot: SVGSVGElement, point: Point | null) => void} */
function mark(plot, point) {
  const visibility = point === null ? 'hidden' : 'visible'
  const x = `${point?.x ?? 0}%`
  set(plot.querySelector('.chart-cursor'), { visibility, x1: x, x2: x })
  for (const [line, dot] of plot.querySelectorAll('.chart-pointed').entries()) {
    set(dot, { visibility, cx: x, cy: point?.ys[line] ?? '0' })
  }
}

/** @type {(element: Element | null, attributes: Readonly<Record<string, string | number | boolean>>) => void} */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element?.setAttribute(name, `${value}`)
}
