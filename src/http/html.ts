/** Escaped HTML. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value in a template. Text is escaped, `null` is omitted, and the parts of a list are concatenated. */
export type Part = string | number | Html | null | readonly Part[]

/** Builds HTML from a template such as html`<p>${text}</p>`. Attribute values must have double quotes. */
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
