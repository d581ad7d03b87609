/**
 * Reads variables by name and collects all errors.
 */
import { readFileSync } from 'node:fs'
import { StartupFailure } from '../errors.ts'
import { type Value, type VariableName, variables } from './variables.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the value of the variable. `check` throws if it conflicts with other variables. */
export type Read = <Name extends VariableName>(name: Name, check?: (value: Value<Name>) => void) => Value<Name>

/**
 * Calls `work` with a function that reads variables. Its values are undefined for invalid variables. Throws
 * `StartupFailure` with one line for each invalid variable.
 */
export function readVariables<T>(env: Environment, work: (read: Read) => T): T {
  const errors: string[] = []
  const result = work((name, check) => {
    try {
      const [fallback, parse] = variables[name]
      const value = parse(textOf(env, name) ?? fallback) as Value<typeof name>
      check?.(value)
      return value
    } catch (error) {
      errors.push(`${name} ${(error as Error).message}`)
      return undefined as never
    }
  })
  if (errors.length > 0) throw new StartupFailure(errors.join('\n'))
  return result
}

/** Returns the trimmed text of the variable or of the file in `NAME_FILE`; undefined if neither is set. */
function textOf(env: Environment, name: string): string | undefined {
  const direct = env[name]?.trim()
  const path = env[`${name}_FILE`]?.trim()
  if (!path) return direct || undefined
  if (direct) throw new Error(`and ${name}_FILE are both set: set one of them.`)
  const text = contentOf(path, name).trim()
  // The default must not replace a secret whose file is empty.
  if (text === '') throw new Error(`cannot be read from the file that ${name}_FILE names: it is empty.`)
  return text
}

function contentOf(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot be read from the file that ${name}_FILE names: ${(error as Error).message}.`)
  }
}
