/** The index of single characters and pairs for PostgreSQL, where terms of less than three characters have no trigram. */

/** Characters for private use, by number: one is before and after each text, the other ends each pair of characters. */
const [edge, end] = ['57344', '57345']
/** The character that ends pairs: no pair has it. */
export const lettersEnd = String.fromCodePoint(Number(end))

/**
 * Returns the SQL expression for an array of the characters and the pairs of characters in texts. Leaves out the inside of runs
 * of ASCII characters, which trigrams find. Null if all texts are ASCII and have more than two characters, so that most records
 * cost nothing.
 */
export function letters(texts: readonly string[]): string {
  const values = texts.map((text) => `coalesce(${text}, '')`)
  const plain = values.join(' || ')
  const edged = `(chr(${edge}) || ${values.join(` || chr(${edge}) || `)} || chr(${edge})) collate "C"`
  const ascii = '[\\u0001-\\u007f]'
  // Keeps the first and the last of three or more ASCII characters.
  const short = `regexp_replace(${edged}, '(${ascii})${ascii}+(${ascii})', '\\1' || chr(${edge}) || '\\2', 'g')`
  const pairs = (text: string) =>
    `string_to_array(regexp_replace(${text}, '(..)', '\\1' || chr(${end}), 'g'), chr(${end}))`
  const isShort = texts.map((text) => `length(${text}) <= 2`).join(' or ')
  return `(case when octet_length(${plain}) > length(${plain}) or ${isShort}
    then string_to_array(${short}, null) || ${pairs(short)} || ${pairs(`substr(${short}, 2)`)} end)`
}

const indexed: Readonly<Record<string, readonly string[]>> = {
  domains: ['coalesce(search_text, name)'],
  spaces: ['name_folded'],
  tags: ['name_folded'],
  links: ['alias_folded', 'coalesce(title_folded, title)', 'coalesce(url_folded, url)'],
  members: ['name_folded', 'coalesce(email_folded, email)'],
}

/** Returns statements that index empty tables. The server indexes others when it has started, because it takes long. */
export function letterIndexes(): string[] {
  return Object.entries(indexed).map(([table, texts]) => {
    const create = `create index ${table}_by_letters on ${table} using gin (${letters(texts)})`
    return `do $do$ begin if not exists (select from ${table}) then ${create}; end if; end $do$`
  })
}
