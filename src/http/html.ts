/** Text that is HTML: what it was made of has been escaped. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What a template may hold. Text is escaped; `null` stands for nothing, a list for its parts in a row. */
export type Part = string | number | Html | null | readonly Part[]

/** HTML from a template: html`<p>${text}</p>`. Attribute values stand in double quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] as string
  for (let n = 0; n < parts.length; n++) text += textOf(parts[n] as Part) + strings[n + 1]
  return new Html(text)
}

function textOf(part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(textOf).join('')
  return String(part).replace(/[&<>"]/g, (character) => entities[character] as string)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
