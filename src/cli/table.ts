/** Lines of columns that stand under each other. */
export function table(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))))
  const pad = (text: string, column: number) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text))
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n')
}

function widthOf(text: string): number {
  return [...text].length
}
