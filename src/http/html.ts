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
  for (let n = 0; n < parts.length; n++) text += toText(parts[n] as Part) + strings[n + 1]
  return new Html(text)
}

function toText(part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  return typeof part === 'object' ? part.map(toText).join('') : escaped(String(part))
}

/** Returns the text as HTML, in which it may be an attribute value in double quotes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] as string)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
