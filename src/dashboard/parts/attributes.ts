import { type Html, html } from '../../http/html.ts'

/** The attributes that have a value, each after a space. `true` stands for one without a value; `null` and `false` for none. */
export function attributes(values: Readonly<Record<string, string | number | boolean | null>>): Html {
  const present = Object.entries(values).filter(([, value]) => value !== null && value !== false)
  return html`${present.map(([name, value]) => (value === true ? html` ${name}` : html` ${name}="${String(value)}"`))}`
}
