/**
 * What the options of the commands on links name: a domain, a space, a link. Each function throws `StartupFailure` when
 * there is no such record, and `WrongUse` when the words leave open which one is meant.
 */
import { findDomainByName } from '../domains/store.ts'
import { Refusal, StartupFailure } from '../errors.ts'
import type { LinkRow } from '../links/statements.ts'
import { findLink, findLinkByAlias, linksOfAlias } from '../links/store.ts'
import { parseHostName } from '../names/host-name.ts'
import { findSpace, spacesNamed } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { idFrom } from './arguments.ts'
import { program, WrongUse } from './command.ts'

/** Records that a sentence names at most. */
const maxNamed = 10

/** The id of the account's domain of this name, in any spelling. */
export async function chosenDomain(db: Db, account: number, text: string): Promise<number> {
  const name = parseHostName(text.trim())
  if (name instanceof Refusal) throw new WrongUse(`--domain: ${name.message}`)
  const domain = await findDomainByName(db, account, name.name)
  if (domain === undefined) throw new StartupFailure(`--domain: The account has no domain ${name.name}.`)
  return domain.id
}

/** The id of the account's space with this ID or, whatever its case, this name. */
export async function chosenSpace(db: Db, account: number, text: string): Promise<number> {
  const [name, id] = [text.trim(), idFrom(text.trim())]
  if (id !== undefined && (await findSpace(db, account, id)) !== undefined) return id
  const [space, ...others] = await spacesNamed(db, account, name, maxNamed + 1)
  if (space === undefined) throw new StartupFailure(`--space: The account has no space "${name}".`)
  if (others.length === 0) return space.id
  const ids = someOf([space, ...others].map((each) => String(each.id)))
  throw new WrongUse(`--space: More than one space is called ${name}. Name the one you mean by its ID: ${ids}.`)
}

/** The account's link with this alias: on the domain of this name or, without one, on the only domain that has it. */
export async function chosenLink(db: Db, account: number, alias: string, domain: string | undefined): Promise<LinkRow> {
  const found = domain === undefined ? await onlyLink(db, account, alias) : await linkOn(db, account, alias, domain)
  if (found !== undefined) return found
  const place = domain === undefined ? '' : ` on ${domain.trim()}`
  throw new StartupFailure(`There is no link ${alias}${place}. "${program} links list" shows the links.`)
}

async function linkOn(db: Db, account: number, alias: string, domain: string): Promise<LinkRow | undefined> {
  return (await findLinkByAlias(db, account, await chosenDomain(db, account, domain), alias))?.record
}

async function onlyLink(db: Db, account: number, alias: string): Promise<LinkRow | undefined> {
  const [link, ...others] = await linksOfAlias(db, account, alias, maxNamed + 1)
  if (others.length === 0) return link && (await findLink(db, account, link.id))?.record
  const domains = someOf([link, ...others].map((each) => each?.domain_name ?? ''))
  throw new WrongUse(`More than one domain has a link ${alias}. Add --domain with the one you mean: ${domains}.`)
}

function someOf(names: readonly string[]): string {
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')} and others` : names.join(', ')
}
