import { type Html, html } from '../../http/html.ts'
import { colors } from '../../spaces/space.ts'
import { type Field, radioGroup } from './fields.ts'

/** A space: the dot of its colour and its name. */
export function spaceName(space: { readonly name: string; readonly color: number }): Html {
  return html`<span class="space">${dot(space.color)}<bdi>${space.name}</bdi></span>`
}

/** The choice of a space's colour, each a dot and a word. */
export function colorField(field: Omit<Field, 'label'>): Html {
  const options = colors.map((word, index) => ({
    value: String(index + 1),
    label: html`${dot(index + 1)}${word.replace(/^./, (letter) => letter.toUpperCase())}`,
  }))
  return radioGroup({ ...field, label: 'Colour', options })
}

function dot(color: number): Html {
  return html`<span class="dot dot-${color}"></span>`
}
