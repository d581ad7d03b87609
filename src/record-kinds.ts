/** The kinds of records that have events: what people call them, what happens to them, and where they are shown. */

/** The text before a record's name: "deleted" go.acme.com. The second text names the type, if not "Link deleted". */
type Verb = string | readonly [inSentence: string, type: string]

interface Kind {
  readonly noun: string
  /** What people call all of them. */
  readonly title: string
  /** Its page's path in the dashboard. `:id` stands for the id of the record. */
  readonly page: string
  /** The verbs by action. An event has the type `<kind>.<action>`. */
  readonly verbs: Readonly<Record<string, Verb>>
  /** The actions that a reversal takes back. */
  readonly reversible: readonly string[]
  /** Whether an export of the account contains these records. */
  readonly isExported: boolean
}

const verbs = { created: 'created', updated: 'changed', deleted: 'deleted', restored: 'restored' } as const
const reversible = ['created', 'updated', 'deleted', 'restored'] as const

/** One entry for each kind of record. */
export const kinds = {
  link: {
    noun: 'link',
    title: 'Links',
    page: '/app/links/:id',
    verbs: { ...verbs, clicks_deleted: ['deleted the statistics of', 'Statistics deleted'] },
    reversible,
    isExported: true,
  },
  domain: {
    noun: 'domain',
    title: 'Domains',
    page: '/app/domains/:id',
    verbs: { ...verbs, created: 'added' },
    reversible,
    isExported: true,
  },
  space: { noun: 'space', title: 'Spaces', page: '/app/spaces/:id', verbs, reversible, isExported: true },
  tag: {
    noun: 'tag',
    title: 'Tags',
    page: '/app/tags/:id',
    verbs: { ...verbs, merged: 'merged' },
    reversible,
    isExported: true,
  },
  key: {
    noun: 'API key',
    title: 'API keys',
    page: '/app/keys',
    verbs: { created: 'created', rotated: 'rotated', revoked: 'revoked' },
    reversible: [],
    isExported: false,
  },
  member: {
    noun: 'member',
    title: 'People',
    page: '/app/people',
    verbs: { joined: ['joined the account', 'Member joined'], updated: 'changed', removed: 'removed' },
    reversible: [],
    isExported: false,
  },
  invitation: {
    noun: 'invitation',
    title: 'Invitations',
    page: '/app/people',
    verbs: { created: 'created', deleted: 'revoked' },
    reversible: [],
    isExported: false,
  },
  account: {
    noun: 'account',
    title: 'Account',
    page: '/app/account',
    verbs: { updated: 'changed' },
    reversible: [],
    isExported: false,
  },
  import: {
    noun: 'import',
    title: 'Imports',
    page: '/app/import/:id',
    verbs: { applied: 'applied', undone: ['undid', 'Import undone'] },
    reversible: [],
    isExported: false,
  },
} as const satisfies Readonly<Record<string, Kind>>

type Kinds = typeof kinds
export type RecordKind = keyof Kinds
type ActionIn<Name extends RecordKind> = keyof Kinds[Name]['verbs'] & string
/** What happened to a record. */
export type EventAction = { [Name in RecordKind]: ActionIn<Name> }[RecordKind]
export type EventType = { [Name in RecordKind]: `${Name}.${ActionIn<Name>}` }[RecordKind]
/** The kinds of records that an export contains. */
export type ExportedKind = { [Name in RecordKind]: Kinds[Name]['isExported'] extends true ? Name : never }[RecordKind]
/** The kinds of records whose changes can be reversed. */
export type ReversibleKind = {
  [Name in RecordKind]: Kinds[Name]['reversible'] extends readonly [] ? never : Name
}[RecordKind]

export const recordKinds = Object.keys(kinds) as readonly RecordKind[]

/** The name of each type of events: "Link deleted". */
export const typeNames = Object.fromEntries(
  recordKinds.flatMap((kind) => {
    const { noun, verbs }: Kind = kinds[kind]
    const start = noun.charAt(0).toUpperCase() + noun.slice(1)
    return Object.entries(verbs).map(([action, verb]) => [
      `${kind}.${action}`,
      typeof verb === 'string' ? `${start} ${verb}` : verb[1],
    ])
  }),
) as Readonly<Record<EventType, string>>

export const eventTypes = Object.keys(typeNames) as readonly EventType[]

/** Returns the text before the name of a record to which this happened. A newer server may send unknown actions. */
export function findVerb(kind: RecordKind, action: string): string {
  const verb = (kinds[kind].verbs as Kind['verbs'])[action] ?? action.replaceAll('_', ' ')
  return typeof verb === 'string' ? verb : verb[0]
}

/** Returns whether changes of this kind of record can be reversed. */
export function isReversibleRecord(kind: RecordKind): kind is ReversibleKind {
  return kinds[kind].reversible.length > 0
}

/** Returns whether such a change can be reversed, if the event has its values. */
export function isReversible(kind: RecordKind, action: EventAction): boolean {
  return (kinds[kind].reversible as readonly string[]).includes(action)
}
