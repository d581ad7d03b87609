/** How commands use the API: in this process, with the operator as the actor. */
import { text } from 'node:stream/consumers'
import type { Actor } from '../access/actor.ts'
import type { ApiClient, ApiResponse } from '../api/local.ts'
import type { Operation } from '../api/operations.ts'
import { withLocalApi } from '../app/local.ts'
import { Failure } from '../errors.ts'
import { type Form, form } from '../forms/form.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { ImportActions } from '../imports/actions.ts'
import type { Storage } from '../storage/port.ts'
import { accountCommand } from './accounts.ts'
import type { Arguments, Command, Declared, Printed, Terminal, Values } from './command.ts'
import { checkFields, explained } from './form-options.ts'
import { dashboardUrl } from './instance.ts'
import { type Listed, writeWarnings } from './output.ts'

/** What a command sends: the ids in the path, the fields, and the field that is the argument without a name. */
interface Request {
  readonly id?: number | string
  readonly address_id?: number | string
  readonly fields?: Fields
  readonly operand?: string | undefined
}

/** The JSON of a response; empty for 204. */
interface Answer<T, Meta> {
  readonly data: T
  readonly meta: Meta
}

/** The largest list page. */
const maxPage = 100

export class Client {
  readonly #api: ApiClient
  readonly #terminal: Terminal

  constructor(api: ApiClient, terminal: Terminal) {
    this.#api = api
    this.#terminal = terminal
  }

  /** Throws `WrongUse` if the form of an operation rejects the fields. */
  check(operation: Operation, { fields = {}, operand }: Pick<Request, 'fields' | 'operand'>): void {
    checkFields(findForm(operation), fields, operand)
  }

  /** Sends a request. Throws `WrongUse` if its form rejects the fields, and `StartupFailure` for other violations. */
  async send(operation: Operation, { fields = {}, operand, ...ids }: Request = {}): Promise<ApiResponse> {
    this.check(operation, { fields, operand })
    const params = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, String(id)]))
    try {
      return await this.#api.send(operation, { params, fields })
    } catch (error) {
      throw explained(error, findForm(operation), operand)
    }
  }

  /** Sends a request, and returns the JSON of its response. Writes the warnings in it to stderr. */
  async call<T, Meta = Readonly<Record<string, unknown>>>(
    operation: Operation,
    request: Request = {},
  ): Promise<Answer<T, Meta>> {
    const { body } = await this.send(operation, request)
    const received = await text(body)
    const { data, meta = {} } = received === '' ? { data: undefined } : JSON.parse(received)
    writeWarnings(this.#terminal, meta.warnings ?? [])
    return { data, meta }
  }

  /** Returns a record; undefined if there is none. */
  async find<T>(operation: Operation, id: number): Promise<T | undefined> {
    try {
      return (await this.call<T>(operation, { id })).data
    } catch (error) {
      if (error instanceof Failure && error.code === 'not_found') return undefined
      throw error
    }
  }

  /** Returns the first records of a list. */
  async list<T extends { readonly id?: unknown }>(
    operation: Operation,
    limit: number,
    { fields = {}, ...request }: Request = {},
  ): Promise<Listed<T>> {
    const rows = new Map<unknown, T>()
    const per_page = [10, 25, 50].find((size) => size >= limit) ?? maxPage
    for (let page = 1; ; page++) {
      const asked = { ...fields, per_page: String(per_page), page: String(page) }
      const { data, meta } = await this.call<T[]>(operation, { ...request, fields: asked })
      // A record stored meanwhile moves the others to later pages.
      for (const row of data) rows.set(row.id, row)
      if (rows.size < limit && data.length === per_page) continue
      const { total, total_is_exact } = meta as { readonly total: number; readonly total_is_exact: boolean }
      return { rows: [...rows.values()].slice(0, limit), total, totalIsExact: total_is_exact }
    }
  }

  /** Yields all records of a list by id. */
  async *each<T extends { readonly id: number }>(
    operation: Operation,
    { fields = {}, ...request }: Request = {},
  ): AsyncGenerator<T> {
    let after: number | undefined
    for (;;) {
      const page = { ...fields, sort: 'asc', per_page: String(maxPage), ...(after && { after: String(after) }) }
      const { data } = await this.call<T[]>(operation, { ...request, fields: page })
      yield* data
      after = data.at(-1)?.id
      if (data.length < maxPage) return
    }
  }
}

const noForm = form<unknown>({})

/** Returns the form of an operation's body or query. */
export function findForm({ body, query }: Operation): Form<unknown> {
  return body?.form ?? query ?? noForm
}

interface LocalClient {
  readonly db: Storage
  readonly actor: Actor
  readonly terminal: Terminal
  /** By default, imports whose jobs show no progress. */
  readonly imports?: ImportActions
}

/** Runs work with the API in this process. */
export async function withClient<T>(
  { terminal, ...local }: LocalClient,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  return withLocalApi({ ...local, dashboardUrl }, (api) => work(new Client(api, terminal)))
}

/** Declares a command that uses only the API, with an option for the account. `connect` gives it the client. */
export function apiCommand<const A extends Arguments>(
  declared: Declared<A> & { readonly run: (client: Client, values: Values<A>, terminal: Terminal) => Printed },
  connect: typeof withClient = withClient,
): Command {
  return accountCommand({
    ...declared,
    usesApi: true,
    run: (db, values, actor, terminal) =>
      connect({ db, actor, terminal }, async (client) => declared.run(client, values, terminal)),
  })
}
