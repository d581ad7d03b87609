/** The English names of countries, languages and devices. */

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const languages = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })
const devices = new Map(Object.entries({ desktop: 'Desktop', mobile: 'Mobile', tablet: 'Tablet', tv: 'TV' }))

/** Returns the name of a value: `Germany` for `DE`, `German` for `de`. The values of other kinds are their names. */
export function displayName(kind: string, value: string): string {
  if (kind === 'countries') return nameIn(regions, value)
  if (kind === 'languages') return nameIn(languages, value)
  return (kind === 'devices' && devices.get(value)) || value
}

/** Returns the English name of a code; other text unchanged. */
function nameIn(names: Intl.DisplayNames, code: string): string {
  try {
    return names.of(code) ?? code
  } catch {
    // `of` throws if the code is malformed.
    return code
  }
}
