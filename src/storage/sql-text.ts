/**
 * Puts SQL texts together. A page of a list has about 25 small parts: joining them takes a quarter of the time in which Kysely
 * compiles them (1.7 instead of 6.7 µs).
 */
import { type Expression, ExpressionWrapper, RawNode, ValueNode } from 'kysely'

/** A part of an SQL text with parameters. */
export interface Sql {
  /** The text before, between and after the parameters. */
  readonly texts: readonly string[]
  readonly parameters: readonly unknown[]
}

function raw(text: string): Sql {
  return { texts: [text], parameters: [] }
}

function concat(strings: readonly string[], values: readonly unknown[]): Sql {
  const texts = [strings[0] as string]
  const parameters: unknown[] = []
  for (let at = 0; at < values.length; at++) {
    const value = values[at]
    const after = strings[at + 1] as string
    if (isSql(value)) {
      texts[texts.length - 1] += value.texts[0] as string
      for (let index = 1; index < value.texts.length; index++) texts.push(value.texts[index] as string)
      parameters.push(...value.parameters)
      texts[texts.length - 1] += after
    } else {
      texts.push(after)
      parameters.push(value)
    }
  }
  return { texts, parameters }
}

function isSql(value: unknown): value is Sql {
  return typeof value === 'object' && value !== null && 'texts' in value
}

/** Returns a quoted name. A table may be before a column, with a dot between them. */
function ref(name: string): Sql {
  return raw(`"${name.replaceAll('"', '""').replace('.', '"."')}"`)
}

function join(parts: readonly unknown[], separator = ', '): Sql {
  return concat(['', ...parts.map((_, at) => (at < parts.length - 1 ? separator : ''))], parts)
}

/** Returns SQL for a number, or for a text of this program. */
function lit(value: number | string): Sql {
  return raw(typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`)
}

/** A template of SQL: its values are parts or parameters. */
export const sqlPart = Object.assign(
  (strings: TemplateStringsArray, ...values: readonly unknown[]) => concat(strings, values),
  {
    raw,
    ref,
    join,
    lit,
  },
)

/** Returns a part as an expression of a query by Kysely. */
export function toExpression<Value>({ texts, parameters }: Sql): Expression<Value> {
  return new ExpressionWrapper(
    RawNode.create(
      texts,
      parameters.map((value) => ValueNode.create(value)),
    ),
  )
}

/** Returns the text and the parameters of a query. `placeholder` returns the SQL for a parameter, which are counted from 1. */
export function formatSql({ texts, parameters }: Sql, placeholder: (number: number) => string) {
  let text = texts[0] as string
  for (let at = 1; at < texts.length; at++) text += placeholder(at) + texts[at]
  return { sql: text, parameters }
}
