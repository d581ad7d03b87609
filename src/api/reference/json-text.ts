/** What fits on a line of a phone, indentation not counted. */
const lineLength = 34

/** JSON for people: with two spaces a level, and what is short on one line. */
export function jsonText(value: unknown, indentation = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indentation}  `
  const parts = Array.isArray(value)
    ? value.map((each) => jsonText(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${jsonText(each, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const line = parts.length === 0 ? open + close : `${open} ${parts.join(', ')} ${close}`
  if (line.length <= lineLength && !line.includes('\n')) return line
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indentation}${close}`
}
