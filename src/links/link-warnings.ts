/** Warnings about the values of links. The links are valid, and a warning never changes what is stored. */
import { Batcher } from '../lib/batcher.ts'
import { foldCase } from '../lib/text.ts'
import { withoutRootDot } from '../names/host-name.ts'
import { matchesShortUrl, parseShortUrl, type ShortUrl } from '../names/short-url.ts'
import { guessOriginals } from '../names/spreadsheet.ts'
import { findSignature, textWarnings, urlWarnings } from '../names/suspicious-values.ts'
import { isWebUrl } from '../names/web-url.ts'
import type { Db, Storage } from '../storage/port.ts'
import { Warning } from '../warnings.ts'
import { aliasesLike, domainsNamed } from './batch-store.ts'
import { destinationsIn, type WithDestinations } from './schema.ts'
import { addressesWith, type KnownAddress } from './spellings.ts'

/** A link as responses have it, or as it is stored. */
export interface WarnedLink extends WithDestinations {
  readonly expiration_url?: string | null | undefined
  readonly title?: string | null | undefined
  readonly notes?: string | null | undefined
  /** A list, or names with commas between them. */
  readonly tags?: readonly string[] | string | null | undefined
  readonly forward_query?: boolean | number | undefined
  readonly alias?: string | null | undefined
}

interface Sources {
  readonly shortUrl: ShortUrl
  /** Whether the links are from a file, which a spreadsheet may have saved. */
  readonly isFromFile?: boolean
  /** Finds aliases in the file. */
  readonly findInFile?: FindAliases
}

/** Returns the aliases with one of these folded aliases and its URL, by URL and folded alias. */
type FindAliases = (wanted: ReadonlyMap<string, ReadonlySet<string>>) => ReturnType<typeof aliasesLike>

/** Warnings about destinations that people still read. */
const maxDestinations = 5

/** Aliases that a request looks up: 15 to 40 ms in SQLite, whose write lock is held meanwhile, and 50 to 75 ms in PostgreSQL. */
const maxOriginals = 10_000

/** Returns a function that returns the warnings about one of these links of the account. */
export async function findLinkWarnings(
  db: Db,
  account: number,
  links: readonly WarnedLink[],
  { shortUrl, isFromFile = false, findInFile = async () => new Map() }: Sources,
): Promise<(link: WarnedLink) => Warning[]> {
  const urls = links.flatMap((link) => urlsIn(link).map(({ url }) => url))
  const own = await findOwnShortUrls(db, account, urls, shortUrl)
  const originals = await findOriginals(db, account, isFromFile ? links : [], findInFile)
  return (link) => {
    const [alias, other] = [link.alias ?? '', originals.get(link)]
    const changed = other === undefined ? [] : [new Warning('spreadsheet', 'alias', { alias, other })]
    return [...changed, ...destinationWarnings(link, own), ...signatureWarnings(link), ...wordWarnings(link)]
  }
}

/** Returns the function that finds the warnings about one link. Outside of transactions, links of an account share queries. */
export function linkWarnings(storage: Storage, shortUrl: ShortUrl) {
  const find = async (db: Db, account: number, links: readonly WarnedLink[]) => {
    const warningsOf = await findLinkWarnings(db, account, links, { shortUrl })
    return links.map(warningsOf)
  }
  const together = new Batcher((links: readonly WarnedLink[], account: number) => find(storage, account, links))
  return async (db: Db, account: number, link: WarnedLink): Promise<readonly Warning[]> =>
    db === storage ? together.add(account, link) : ((await find(db, account, [link]))[0] ?? [])
}

/** At most one for each host, short URL and entity. */
function destinationWarnings(link: WarnedLink, own: ReadonlyMap<string, string>): Warning[] {
  const warnings = new Map<string, Warning>()
  for (const { field, url } of urlsIn(link)) {
    const shortUrl = own.get(url)
    const found = shortUrl === undefined ? [] : [new Warning('own_short_link', field, { shortUrl })]
    for (const warning of [...found, ...urlWarnings(field, url)]) warnings.getOrInsert(warning.message, warning)
    if (warnings.size >= maxDestinations) break
  }
  return [...warnings.values()].slice(0, maxDestinations)
}

function urlsIn(link: WarnedLink) {
  const { expiration_url } = link
  return [...destinationsIn(link), ...(expiration_url ? [{ field: 'expiration_url', url: expiration_url }] : [])]
}

function signatureWarnings(link: WarnedLink): Warning[] {
  if (!link.forward_query) return []
  for (const { field, url } of destinationsIn(link)) {
    const parameter = findSignature(url)
    if (parameter !== null) return [new Warning('signed_url', field, { parameter })]
  }
  return []
}

function wordWarnings({ title, notes, tags }: WarnedLink): Warning[] {
  const names = typeof tags === 'string' ? tags.split(',') : (tags ?? [])
  return [
    ...textWarnings('title', title ?? ''),
    ...textWarnings('notes', notes ?? ''),
    ...names.flatMap((name) => textWarnings('tags', name)),
  ]
}

/** Returns the alias of another link with the same destination for each link whose alias a spreadsheet may have changed. */
async function findOriginals(
  db: Db,
  account: number,
  links: readonly WarnedLink[],
  findInFile: FindAliases,
): Promise<ReadonlyMap<WarnedLink, string>> {
  const all = links.map((link) => ({ link, url: link.url ?? '', keys: guessOriginals(link.alias ?? '') }))
  const suspects = all.filter(({ keys }) => keys.length > 0)
  const total = suspects.reduce((sum, { keys }) => sum + keys.length, 0)
  // All rows get the same limit, whatever their order.
  const limit = total > maxOriginals ? maxOriginals / suspects.length : total
  const wanted = new Map<string, Set<string>>()
  for (const { url, keys } of suspects.filter((each) => each.keys.length <= limit)) {
    for (const key of keys) wanted.getOrInsertComputed(key, () => new Set()).add(url)
  }
  const [stored, inFile] = [await aliasesLike(db, account, wanted), await findInFile(wanted)]
  const found = new Map<WarnedLink, string>()
  for (const { link, url, keys } of suspects) {
    const [alias] = [stored, inFile].flatMap((aliases) => keys.flatMap((key) => aliases.get(url)?.get(key) ?? []))
    if (alias !== undefined) found.set(link, alias)
  }
  return found
}

/** Returns the account's short URLs among URLs, by URL. */
async function findOwnShortUrls(
  db: Db,
  account: number,
  urls: readonly string[],
  shortUrl: ShortUrl,
): Promise<ReadonlyMap<string, string>> {
  const byHost = Map.groupBy([...new Set(urls)].filter(isWebUrl), (url) =>
    withoutRootDot(URL.parse(url)?.hostname ?? ''),
  )
  const found = new Map<string, string>()
  for (const { id, name } of (await domainsNamed(db, account, [...byHost.keys()])).values()) {
    const here = (byHost.get(name) ?? []).flatMap((url) => {
      const aliases = parseShortUrl(url)?.aliases
      return aliases === undefined ? [] : [{ url, folded: aliases.map(foldCase) }]
    })
    const stored = await addressesWith(db, account, id, [...new Set(here.flatMap(({ folded }) => folded))])
    const known: ReadonlyMap<string, KnownAddress[]> = Map.groupBy(stored, ({ folded }) => folded)
    for (const { url, folded } of here) {
      const own = folded.flatMap((each) => known.get(each) ?? []).map(({ alias }) => shortUrl(name, alias))
      // Another server may use another port of the same host.
      const matching = own.find((each) => matchesShortUrl(url, each))
      if (matching !== undefined) found.set(url, matching)
    }
  }
  return found
}
