/** The links that rows of files become. */

import type { Reading } from '../forms/form.ts'
import { foldCase } from '../lib/text.ts'
import { withoutClashes } from '../links/addresses.ts'
import { maxTags } from '../links/link.ts'
import { type LinkRules, withScheme } from '../links/link-violations.ts'
import { findLinkWarnings, type WarnedLink } from '../links/link-warnings.ts'
import { type LinkChange, type NewLink, storeLink, updateLink } from '../links/schema.ts'
import type { Db } from '../storage/port.ts'
import type { ImportOptions } from './schema.ts'
import { aliasesInFile, type Content, type RowDecision, type StagedAddress, type StagedRow } from './staging/store.ts'

/** Returns the fields of a new link, except its alias and domain. A link whose password is unreadable is disabled. */
export function readNewLink(
  { fields, losses, password }: Content,
  { space_id, tag }: Pick<ImportOptions, 'space_id' | 'tag'>,
  rules: LinkRules,
): Reading<NewLink> {
  const sent = {
    ...fields,
    ...(losses.includes('password') && { disabled: 'true' }),
    ...(tag !== null && { tags: namesWith(tag, fields.tags).join(',') }),
  }
  const { values, violations } = withScheme(storeLink.read(sent), rules)
  return { values: { ...values, space_id, redirect_password: password }, violations }
}

/** Adds the warnings about the values that rows store to their decisions. */
export async function withWarnings<Row extends StagedRow & { readonly decision: RowDecision }>(
  tx: Db,
  { account, importId, rules }: { readonly account: number; readonly importId: number; readonly rules: LinkRules },
  rows: readonly Row[],
): Promise<Row[]> {
  const links = new Map(rows.map((row) => [row, warnedLink(row)]))
  const all = [...links.values()].filter((link) => link !== null)
  const findInFile = (wanted: ReadonlyMap<string, ReadonlySet<string>>) => aliasesInFile(tx, importId, wanted)
  const findWarnings = await findLinkWarnings(tx, account, all, { ...rules, isFromFile: true, findInFile })
  return rows.map((row) => {
    const link = links.get(row)
    const warnings = link ? findWarnings(link).map((each) => each.toJSON()) : []
    return { ...row, decision: { ...row.decision, warnings } }
  })
}

/** Returns the values that a row stores; null if it stores none. */
function warnedLink({ content: { fields }, addresses: [address], decision }: StagedRow): WarnedLink | null {
  const { outcome } = decision ?? {}
  if (outcome !== 'store' && outcome !== 'rename' && outcome !== 'update') return null
  // An update finds the link by its alias.
  return { ...storeLink.read(fields).values, alias: outcome === 'update' ? null : address?.path.normalize() }
}

/** Returns the addresses that a new link gets, the main one first. Several old addresses can be the same here. */
export function newAddresses(addresses: readonly StagedAddress[]) {
  const located = addresses.flatMap(({ domain_id, alias, exact, legacy }) =>
    domain_id === null || alias === null ? [] : [{ domain_id, alias, exact, legacy }],
  )
  return withoutClashes(located)
}

/** Returns names of tags with another one, which replaces the last one if there would be too many. */
function namesWith(tag: string, names = ''): string[] {
  const others = names.split(',').filter((name) => foldCase(name.trim()) !== foldCase(tag))
  return [tag, ...others.slice(0, maxTags - 1)]
}

/** Returns the values that an update gives a link. Empty texts clear fields that can be empty. */
export function readChange({ fields, password }: Content, rules: LinkRules): Reading<LinkChange> {
  const all = updateLink.fields as Readonly<Record<string, { readonly acceptsEmpty: boolean } | undefined>>
  const sent = Object.entries(fields).filter(([name, text]) => text.trim() !== '' || all[name]?.acceptsEmpty)
  const { values, violations } = withScheme(updateLink.read(Object.fromEntries(sent)), rules)
  // An update leaves the address unchanged.
  const { domain_id: _, alias: __, exact: ___, keep_address: ____, ...change } = values
  return { values: { ...change, ...(password !== null && { redirect_password: password }) }, violations }
}
