import { distance } from 'fastest-levenshtein'
import { foldCase } from '../lib/text.ts'
import { keySeparator, maxAliasLength } from '../names/alias.ts'
import { parseShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { Listable, PageRequest, Storage } from '../storage/port.ts'
import type { LinkRow } from './schema.ts'
import { findLink } from './store.ts'

interface Candidate {
  readonly id: number
  readonly alias_folded: string
}

const aliases: Listable<Candidate> = { table: 'links', columns: ['id', 'alias_folded'], ...resources.links }

/** The search index finds no shorter texts. Code points. */
const minPiece = 3
/** A text with up to one edit fewer than pieces has an unchanged piece. */
const maxPieces = 3
/** Candidates with each piece, and the newest candidates: 700 in total. */
const perPiece = 100
const newest = 400
/** Characters of candidates that are compared, which takes about a millisecond with the longest text. */
const maxCompared = 20_000
/** The most edits, as a share of the length of the text. */
const maxEdits = 1 / 3

/**
 * Finds the account's link whose alias is nearest to a search that has no match, among the links that match its filters.
 * Returns undefined if no alias is near. The candidates are bounded: the aliases that the search index finds with a piece
 * of the text, and the newest aliases. While the index lacks many new records, the candidates are the newest aliases.
 */
export async function findNearestLink(
  storage: Storage,
  account: number,
  { search, searchIn, ...filters }: Pick<PageRequest, 'search' | 'searchIn' | 'filter' | 'groups'>,
): Promise<LinkRow | undefined> {
  const text = searchedAlias(search)
  const { length } = [...text]
  if (!searchIn.includes('alias') || length < minPiece || length > maxAliasLength) return undefined
  const { filter, groups = {} } = filters
  const list = async (piece: string[], limit: number) =>
    (await storage.list({ of: aliases, account, filter, groups, search: piece, searchIn: ['alias'], ...order, limit }))
      .rows
  const found = await Promise.all([...piecesOf(text).map((piece) => list([piece], perPiece)), list([], newest)])
  const near = nearest(text, length * maxEdits, found.flat())
  return near && (await findLink(storage, account, near.id))?.record
}

const order = { sortBy: 'id', direction: 'desc', offset: 0, after: null, withoutScan: true } as const

/** Returns the alias of a pasted short URL, or the words joined by hyphens. */
function searchedAlias(words: readonly string[]): string {
  const pasted = words.length === 1 ? parseShortUrl(words[0] ?? '') : null
  // Aliases may have slashes, too.
  const hasHost = pasted !== null && /[.]|^localhost$/.test(pasted.domain)
  return hasHost ? foldCase(pasted.aliases.at(-1) ?? '') : foldCase(words.join('-'))
}

/** Returns equal parts of a text; for a short text, its start and its end, which overlap. */
function piecesOf(text: string): string[] {
  const characters = [...text]
  const { length } = characters
  const count = Math.min(maxPieces, Math.floor(length / minPiece))
  const size = count === 1 ? minPiece : Math.floor(length / count)
  const starts = count === 1 ? [0, length - size] : Array.from({ length: count }, (_, at) => at * size)
  return [...new Set(starts.map((start) => characters.slice(start, start + size).join('')))]
}

function nearest(text: string, most: number, candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined
  let least = Math.max(1, most)
  let compared = 0
  for (const candidate of candidates) {
    const [alias = ''] = candidate.alias_folded.split(keySeparator)
    if (Math.abs(alias.length - text.length) > least) continue
    compared += alias.length
    if (compared > maxCompared) break
    const edits = distance(text, alias)
    if (edits > least || (edits === least && best !== undefined)) continue
    best = candidate
    least = edits
  }
  return best
}
