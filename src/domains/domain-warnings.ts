/** Warnings about the values of domains, and about short links that apps open without a visit. */
import { encodeAlias } from '../names/short-url.ts'
import { urlWarnings } from '../names/suspicious-values.ts'
import { Warning } from '../warnings.ts'
import type { Domain } from './schema.ts'

type Files = Pick<Domain, 'apple_app_site_association' | 'asset_links'>

/** Apps, and the paths that they open. */
interface Apps {
  readonly names: readonly string[]
  readonly opens: (path: string) => boolean
}

/** Returns the warnings about a domain. One is about each file that lets an app open some of its links. */
export function domainWarnings(domain: Domain): Warning[] {
  return [
    ...(['homepage_url', 'not_found_url'] as const).flatMap((field) => urlWarnings(field, domain[field] ?? '')),
    ...collectWarnings(domain, 'the links that this file covers', ({ opens }) => opens !== opensNothing),
  ]
}

/** Returns a warning for each file that lets an app open the link with this alias on the domain. */
export function coveringWarnings(files: Files, alias: string): Warning[] {
  return collectWarnings(files, 'this link', ({ opens }) => opens(`/${encodeAlias(alias)}`))
}

function collectWarnings(files: Files, links: string, covers: (apps: Apps) => boolean): Warning[] {
  return fields.flatMap((field) => {
    const text = files[field]
    const apps = text === null ? [] : (field === 'asset_links' ? androidApps : iosApps)(JSON.parse(text)).filter(covers)
    const names = [...new Set(apps.flatMap(({ names }) => names))]
    const [first] = names
    if (first === undefined) return []
    const app = names.length === 1 ? first : `${first} and ${names.length - 1} more`
    return new Warning('app_opens_links', field, { app, links })
  })
}

const fields = ['apple_app_site_association', 'asset_links'] as const
const opensNothing = () => false
type Json = Readonly<Record<string, unknown>>

function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : []
}

/** Returns the texts in a list, or a single one. The files are stored as sent, and their members can be anything. */
function textsIn(value: unknown): string[] {
  return [value].flat().filter((each): each is string => typeof each === 'string' && each !== '')
}

/** Returns the apps of statements (Digital Asset Links) that may handle all URLs. */
function androidApps(statements: unknown): Apps[] {
  return objectsIn(statements).flatMap(({ relation, target }) => {
    const { namespace, package_name } = (target ?? {}) as Json
    const isHandler = textsIn(relation).includes('delegate_permission/common.handle_all_urls')
    return isHandler && namespace === 'android_app' ? { names: textsIn(package_name), opens: () => true } : []
  })
}

/** Returns the apps in `applinks`. The first component, or path, that matches decides. */
function iosApps({ applinks }: Json): Apps[] {
  const { details } = (applinks ?? {}) as Json
  // Older files have an object with a member for each app.
  const isList = Array.isArray(details) || typeof details !== 'object' || details === null
  const all = isList ? objectsIn(details) : Object.entries(details).map(([appID, app]) => ({ appID, ...(app as Json) }))
  return all.map(({ appID, appIDs, components, paths }: Json) => {
    const rules = components === undefined ? pathRules(paths) : componentRules(components)
    const opens = (path: string) => rules.find(({ pattern }) => matchesWildcards(pattern, path))?.isOpened ?? false
    return { names: textsIn(appIDs ?? appID), opens: rules.some(({ isOpened }) => isOpened) ? opens : opensNothing }
  })
}

interface PathRule {
  readonly pattern: string
  readonly isOpened: boolean
}

/** Leaves out components that require a query or a fragment, which short links have only if visitors add one. */
function componentRules(components: unknown): PathRule[] {
  return objectsIn(components).flatMap(({ '/': path = '*', '?': query = '*', '#': fragment = '*', exclude }) => {
    const isAny = [query, fragment].every((part) => typeof part === 'string' && /^\**$/.test(part))
    return isAny && typeof path === 'string' ? { pattern: path, isOpened: exclude !== true } : []
  })
}

function pathRules(paths: unknown): PathRule[] {
  return textsIn(paths).map((path) => {
    const [, not, pattern = ''] = /^(NOT\s+)?(.*)$/s.exec(path) ?? []
    return { pattern, isOpened: not === undefined }
  })
}

/** Returns whether a path matches a pattern in which `*` and variables stand for any text, and `?` for a character. */
function matchesWildcards(given: string, path: string): boolean {
  const pattern = given.replace(/\$\(\w+\)/g, '*').replace(/\*+/g, '*')
  let [at, star, retry] = [0, -1, 0]
  for (let position = 0; position < path.length; ) {
    const next = pattern[at]
    if (next === '*') {
      star = at++
      retry = position
    } else if (next !== undefined && (next === '?' || next === path[position])) {
      at++
      position++
    } else if (star >= 0) {
      at = star + 1
      position = ++retry
    } else return false
  }
  return pattern.slice(at).replace('*', '') === ''
}
