/** The options of imports, their records, and the operations of the API. Forms, commands and documents derive from them. */
import { domainToASCII } from 'node:url'
import type { Static } from 'typebox'
import {
  bodyFailures,
  describePage,
  describeReads,
  idempotencyFailures,
  type ListOperation,
  type Operation,
} from '../api/operations.ts'
import { warningsSchema } from '../api/warnings.ts'
import type { ApiErrorCode } from '../errors.ts'
import { type Form, form, optional, type Rule } from '../forms/form.ts'
import { idSchema, orNull, Type, timeSchema, timestamps } from '../forms/json-schema.ts'
import { type PageQuery, pageConflicts, pageFields } from '../forms/list-query.ts'
import { boolean, oneOf, tagName } from '../forms/rules.ts'
import { parseTimeZone } from '../lib/time-zone.ts'
import { reference } from '../links/fields.ts'
import { Refusal } from '../violations.ts'
import { type ShownWarning, type WarningCode, warningCodes } from '../warnings.ts'
import { lossKinds, sources } from './file-row.ts'
import { type ProofResult, proofResults } from './proof.ts'

export const outcomes = ['store', 'rename', 'update', 'known', 'skip', 'conflict', 'refuse'] as const
export type RowOutcome = (typeof outcomes)[number]
/** Outcomes of rows whose addresses have a link after the import is applied. */
export const linkedOutcomes: readonly RowOutcome[] = ['store', 'rename', 'update', 'known', 'skip']
export const importStates = ['planning', 'failed', 'planned', 'applying', 'applied', 'undoing', 'undone'] as const
export type ImportState = (typeof importStates)[number]
export const conflictModes = ['refuse', 'skip', 'rename', 'update'] as const

/** Texts by name, as `name=value` pairs with commas between them. */
type Pairs = Readonly<Record<string, string>>

const maxPairs = 1_000

/** A rule for pairs such as `old.host=go.acme.com`. `parse` returns a pair, or null for an invalid one. */
function pairs(
  description: string,
  parse: (name: string, value: string) => readonly [string, string] | null,
): Rule<Pairs> {
  return {
    schema: Type.String({ description }),
    parse: (text) => {
      const all = text.split(',').map((pair) => {
        const at = pair.lastIndexOf('=')
        return at < 0 ? null : parse(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
      })
      const known = all.filter((pair) => pair !== null)
      if (known.length === all.length && all.length <= maxPairs) return Object.fromEntries(known)
      return new Refusal('not_allowed.text', { options: 'pairs such as a=b, with commas between them' })
    },
  }
}

/** The domain of hosts whose addresses are left out. */
export const leftOut = '-'

/** Returns whether the addresses of a host are left out. '' stands for rows without a host. */
export function isLeftOut({ domain_map }: Pick<ImportOptions, 'domain_map'>, host: string): boolean {
  return domain_map?.[host || '*'] === leftOut
}

function hostPair(host: string, domain: string): readonly [string, string] | null {
  const [from, to] = [host === '*' ? host : domainToASCII(host), domain === leftOut ? domain : domainToASCII(domain)]
  return from === '' || to === '' ? null : [from, to]
}

const timeZone: Rule<string> = {
  schema: Type.String({
    description:
      'The time zone of times without an offset: an IANA name such as `Europe/Vienna`, or an offset such as `+02:00`. Required if the file has such times.',
  }),
  parse: (text) => {
    if (/^[+-](?:0\d|1[0-4]):[0-5]\d$/.test(text)) return text
    return (
      parseTimeZone(text) ?? new Refusal('not_allowed.text', { options: 'a time zone such as Europe/Vienna or +02:00' })
    )
  },
}

const hosts =
  'Domains for the hosts of the file, as `old.host=domain.name` pairs with commas between them. `*` stands for rows without a host, and `-` in place of a domain leaves out the addresses of a host, and rows that have no others. A host that is a domain of the account needs no pair.'
const columns =
  'Fields for the columns of a `csv` file, as `Column name=field` pairs with commas between them. `-` leaves a column out.'
const aliases = 'If true, rows of a `csv` file without an alias get a generated one. Printed links will not work then.'
const conflict =
  'What happens to a row whose address has a link with another URL: the import can’t be applied (`refuse`), the row is left out (`skip`), its alias gets a number (`rename`), or its fields replace those of the link (`update`).'

export const importOptions = form({
  source: optional(
    oneOf(
      ['auto', ...sources],
      'The service that wrote the file. `auto` recognizes it. `csv` is a table with columns of any names.',
    ),
    'auto',
  ),
  domain_map: optional(pairs(hosts, hostPair), null),
  conflict: optional(oneOf(conflictModes, conflict), 'refuse'),
  time_zone: optional(timeZone, null),
  space_id: optional(reference('The space of all new links.'), null),
  tag: optional(tagName, null),
  columns: optional(
    pairs(columns, (name, field) => (name === '' || field === '' ? null : [name, field])),
    null,
  ),
  generate_aliases: optional(boolean(Type.Boolean({ description: aliases })), false),
})

type ValuesOf<F> = F extends Form<infer Values> ? Values : never
export type ImportOptions = ValuesOf<typeof importOptions>

const count = (description: string) => Type.Integer({ minimum: 0, description })
const countSchemas = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, Type.Integer({ minimum: 0 })])) as unknown as {
    readonly [Each in Name]: ReturnType<typeof Type.Integer>
  }

export const importSchema = Type.Object(
  {
    id: idSchema,
    source: Type.Enum([...sources], { description: 'The service that wrote the file.' }),
    state: Type.Enum([...importStates], { description: 'What has happened to the plan.' }),
    rows: count('The rows of the file, while it is being planned those that are read.'),
    outcomes: Type.Object(countSchemas(outcomes), { description: 'The number of rows for each outcome.' }),
    exact: count('New addresses that match only their spelling.'),
    case_insensitive: count('New addresses that match in any case.'),
    new_tags: count('Names of tags that become tags.'),
    clicks: count('Human clicks of new links.'),
    click_days: count('Pairs of a new link and a day with clicks.'),
    losses: Type.Array(
      Type.Object({ kind: Type.Enum([...lossKinds]), rows: Type.Integer({ minimum: 1 }) }, { $id: 'ImportLoss' }),
      { description: 'Data of the file that isn’t stored, with the number of rows that have it.' },
    ),
    unmapped_hosts: Type.Array(Type.String(), { description: 'Hosts of the file without a domain.' }),
    first_link_at: orNull(timeSchema('The earliest creation time of a new link.')),
    last_link_at: orNull(timeSchema('The latest creation time of a new link.')),
    proof: Type.Object(countSchemas(proofResults), {
      description: 'The number of addresses for each result of the proof.',
    }),
    progress: orNull(
      Type.Object(
        { done: Type.Integer({ minimum: 0 }), total: Type.Integer({ minimum: 0 }) },
        { $id: 'ImportProgress' },
      ),
      'How many rows, events or addresses of how many a running job has done; null if none runs.',
    ),
    error: orNull(
      Type.Object({ code: Type.String(), message: Type.String() }, { $id: 'ImportError' }),
      'Why the import could not be planned, if its state is `failed`.',
    ),
    applied_at: orNull(timeSchema('When the last row was stored.')),
    undo_until: orNull(timeSchema('Until when the import can be undone.')),
    ...timestamps,
  },
  { $id: 'Import', additionalProperties: false },
)
export type Import = Static<typeof importSchema>

const responseSchema = Type.Object(
  { status: orNull(Type.Integer()), location: orNull(Type.String()) },
  { $id: 'ImportResponse' },
)

const rowFields = {
  id: Type.Integer({ minimum: 1, description: 'The position in the file.' }),
  line: orNull(Type.Integer({ minimum: 1 }), 'The line in the file; null if it has none.'),
  outcome: Type.Enum([...outcomes], { description: 'What happens to the row.' }),
  code: orNull(Type.String(), 'Why the row is refused or left out, for programs.'),
  message: orNull(Type.String(), 'Why the row is refused or left out, in a sentence.'),
  link_id: orNull(idSchema, 'The link that the row has stored, or that has its address.'),
  url: orNull(Type.String(), 'The destination.'),
  addresses: Type.Array(
    Type.Object(
      {
        old_url: Type.String({ description: 'The address in the file, always with `https` and without a port.' }),
        short_url: orNull(Type.String(), 'The address here, as links have it; null if there is none.'),
        exact: Type.Boolean({ description: 'Whether only this spelling matches.' }),
        proof: orNull(
          Type.Object(
            { result: Type.Enum([...proofResults]), old: responseSchema, new: responseSchema },
            { $id: 'ImportProof' },
          ),
          'The responses of the old service and of this server; null before a proof.',
        ),
      },
      { $id: 'ImportAddress' },
    ),
  ),
  losses: Type.Array(Type.Enum([...lossKinds]), { description: 'Data of the row that isn’t stored.' }),
}

export const importRowSchema = Type.Object(
  { ...rowFields, warnings: warningsSchema },
  { $id: 'ImportRow', additionalProperties: false, required: Object.keys(rowFields) },
)
export type ImportRow = Omit<Static<typeof importRowSchema>, 'warnings'> & {
  readonly warnings?: readonly ShownWarning[]
}

const example = {
  ...{ id: 1, source: 'bitly', state: 'planned', rows: 312 },
  outcomes: { store: 309, rename: 0, update: 0, known: 1, skip: 0, conflict: 0, refuse: 2 },
  ...{ exact: 4, case_insensitive: 402, new_tags: 3, clicks: 48_211, click_days: 0 },
  losses: [{ kind: 'click_times', rows: 288 }],
  unmapped_hosts: [],
  ...{ first_link_at: '2021-03-09T07:15:00.000Z', last_link_at: '2026-11-19T16:02:00.000Z' },
  proof: { pending: 406, same: 0, same_location: 0, differs: 0, unreachable: 0 },
  ...{ progress: null, error: null, applied_at: null, undo_until: null },
  ...{ created_at: '2026-11-20T12:00:00.000Z', updated_at: '2026-11-20T12:00:00.000Z' },
} satisfies Import

const rowExample = {
  ...{ id: 1, line: 2, outcome: 'store', code: null, message: null, link_id: null, url: 'https://tea.example/' },
  addresses: [
    { old_url: 'https://sip.example/Tea-Menu', short_url: 'https://sip.example/Tea-Menu', exact: false, proof: null },
  ],
  losses: ['click_times'],
} satisfies ImportRow

export interface ImportRowsQuery extends PageQuery {
  readonly outcome: RowOutcome | null
  readonly proof: ProofResult | null
  readonly warning?: WarningCode | 'any' | null | undefined
  /** Only rows whose host has no domain, or only others. Pages use it, the API doesn't have it. */
  readonly isUnmapped?: boolean | undefined
}

const order = 'The field to sort by. Ids are in the order of creation.'

const { list, show } = describeReads<PageQuery>('imports', {
  description:
    'Imports of links from other services, which are planned from a file, applied, proved against the old service, and undone.',
  record: importSchema,
  listQuery: form<PageQuery>(pageFields([], order), [], pageConflicts) as Form<PageQuery>,
  scope: 'imports:read',
  example,
})

/** The largest file that a request can have. Commands read files of any size. */
export const maxFileBytes = 16 * 1024 * 1024

export const fileTypes = {
  'text/csv': 'csv',
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/sql': 'sql',
} as const

const planImport: Operation = {
  tag: list.tag,
  path: list.path,
  id: 'planImport',
  method: 'POST',
  summary: 'Plan an import',
  description:
    'Reads a file of another service, and stores what an import of it would do. The body is the file. No link, tag or click is stored. If that takes longer than 5 seconds, the response is 202, and the work goes on. Unapplied plans are deleted after 7 days, and the oldest ones of an account with more than 20. The key also needs the scope `links:write`, and `tags:write` if the plan creates tags.',
  scope: 'imports:write',
  query: importOptions,
  file: {
    media: Object.keys(fileTypes),
    maxBytes: maxFileBytes,
    example: { links: [{ link: 'https://sip.example/tea', long_url: 'https://tea.example/', custom_bitlinks: [] }] },
    advice: 'Use the command "waymark move plan", which reads files of any size.',
  },
  refused: { source: 'tinyurl', time_zone: 'Mars' },
  success: {
    status: 201,
    description: 'The plan.',
    schema: Type.Object({ data: importSchema }),
    example: { data: example },
    headers: ['Location', 'ETag'],
  },
  acceptedSuccess:
    'The import, whose state is `planning`. Poll it until the state is `planned`, or `failed` with the reason in `error`.',
  headers: ['Idempotency-Key'],
  failures: ['precondition_failed', ...bodyFailures, ...idempotencyFailures],
}

const listImportRows: ListOperation<ImportRowsQuery> = {
  tag: list.tag,
  path: '/imports/:id/rows',
  id: 'listImportRows',
  method: 'GET',
  summary: 'List the rows of an import',
  description:
    'Lists the rows of the file in pages, in the order of the file by default. They are deleted when the import can’t be undone any more.',
  scope: 'imports:read',
  query: form<ImportRowsQuery>(
    {
      ...pageFields([], 'The field to sort by. Ids are positions in the file.'),
      sort: optional(oneOf(['asc', 'desc'], 'The sort order: ascending or descending.'), 'asc'),
      outcome: optional(oneOf(outcomes, 'Only rows with this outcome.'), null),
      warning: optional(oneOf(['any', ...warningCodes], 'Only rows with this warning, or with any.'), null),
      proof: optional(oneOf(proofResults, 'Only rows with an address that has this result of the proof.'), null),
    },
    [],
    pageConflicts,
  ) as Form<ImportRowsQuery>,
  headers: ['If-Match', 'If-None-Match'],
  refused: { outcome: 'lost' },
  success: describePage(
    'rows',
    'importRow',
    { record: importRowSchema, example: rowExample },
    { path: 'imports/1/rows' },
  ),
  failures: ['not_found', 'precondition_failed', 'validation_failed'],
}

/** Describes a request that works on an import in the background. */
function job(
  verb: 'apply' | 'prove' | 'undo',
  path: string,
  description: string,
  failures: readonly ApiErrorCode[],
): Operation {
  return {
    tag: list.tag,
    path: `/imports/:id/${path}`,
    id: `${verb}Import`,
    method: 'POST',
    summary: `${verb.charAt(0).toUpperCase()}${verb.slice(1)} an import`,
    description: `${description} The key also needs the scope \`links:write\`.`,
    scope: 'imports:write',
    success: {
      status: 200,
      description: 'The import. The work is complete.',
      schema: Type.Object({ data: importSchema }),
      example: { data: example },
      headers: ['ETag'],
    },
    acceptedSuccess: 'The import. The work goes on in the background: poll the import until its state changes.',
    failures: ['not_found', 'precondition_failed', 'import_state', 'import_running', ...failures],
  }
}

export const importOperations = {
  list,
  show,
  plan: planImport,
  rows: listImportRows,
  apply: job(
    'apply',
    'apply',
    'Stores the rows of the plan as links, with their clicks. First checks the rows again: if an outcome would change, the response is 412. One `apply` or `undo` runs at a time for an account. After an interruption, the server or a repetition continues, and no row is stored twice.',
    ['import_blocked'],
  ),
  proof: job(
    'prove',
    'proof',
    'Requests each address from the old service with GET, without following redirects, and compares the response with this server’s, for which nothing is counted. `same_location` is another redirect status, and `unreachable` also a host that already points here. A host gets at most 5 requests per second. A repetition repeats everything that isn’t `same`. One proof runs at a time for an account, and doesn’t block `apply` and `undo`.',
    [],
  ),
  cancelProof: {
    tag: list.tag,
    path: '/imports/:id/proof',
    id: 'cancelProof',
    method: 'DELETE',
    summary: 'Stop the proof of an import',
    description:
      'Stops the running proof. Its results stay, and another proof repeats what is not the same. The key also needs the scope `links:write`. A body is ignored.',
    scope: 'imports:write',
    success: { status: 204, description: 'The proof is stopped.' },
    failures: ['not_found', 'import_state'],
  } satisfies Operation as Operation,
  undo: job(
    'undo',
    'undo',
    'Deletes the links of the import, their clicks, and new tags that no other link has, and gives updated links their previous values. The clicks leave all totals within seconds, and return if the undo is undone. Possible for 30 days, even after a partial application. The import is also undone when all events of its batch are.',
    ['import_edited'],
  ),
}
