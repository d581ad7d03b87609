import { readFileSync } from 'node:fs'
import { distance } from 'fastest-levenshtein'
import type { SinkTarget } from '../analytics/sink/open.ts'
import { StartupFailure } from '../errors.ts'
import { decodePercent } from '../lib/text.ts'
import { parseDatabaseUrl } from './database-url.ts'
import * as parse from './parsers.ts'
import { brokenEncoding, isPath } from './parsers.ts'

/** Every variable that Waymark reads: its default and its parser. docs/configuration.md explains them. */
export const variables = {
  HOST: ['127.0.0.1', parse.host],
  PORT: ['3000', parse.port],
  REDIRECT_HOST: ['127.0.0.1', parse.host],
  REDIRECT_PORT: ['3080', parse.port],
  OPS_HOST: ['127.0.0.1', parse.host],
  OPS_PORT: ['3090', parse.port],
  WORKERS: ['1', parse.integer(1, 64)],
  MAX_CONNECTIONS: ['10000', parse.integer(1, 1_000_000)],
  BASE_URL: ['', parse.optional(parse.baseUrl)],
  SHORT_URL: ['', parse.optional(parse.shortUrl)],
  URL_SCHEMES: ['', parse.urlSchemes],
  STALE_FOR: ['3600', parse.integer(0, 31_536_000)],
  TRUST_PROXY: ['off', parse.trustProxy],
  CORS_ORIGINS: ['', parse.corsOrigins],
  DATABASE_URL: ['sqlite:data/waymark.db', parseDatabaseUrl],
  DATABASE_POOL: ['10', parse.integer(1, 100)],
  BOOTSTRAP_KEY: ['', parse.optional(parse.bootstrapKey)],
  RATE_LIMIT: ['6000', parse.integer(0, 1_000_000_000)],
  CLICKS_SINK: ['', parse.optional(parseClickSink)],
  CLICKS_SPOOL: ['', parse.optional(parse.folder)],
  CLICKS_SPOOL_MAX: ['1000', parse.integer(1, 1_000_000)],
  CLICKS_RETENTION: ['730', parse.integer(0, 36_500)],
  HISTORY_DAYS: ['400', parse.integer(0, 36_500)],
  GEOIP_DB: ['', parse.optional(String)],
  COUNTRY_HEADER: ['', parse.optional(parse.countryHeader)],
  OIDC_ISSUER: ['', parse.optional(parse.oidcIssuer)],
  OIDC_CLIENT_ID: ['', parse.optional(parse.clientId)],
  OIDC_CLIENT_SECRET: ['', parse.optional(String)],
  OIDC_NAME: ['', parse.optional(parse.buttonText)],
  OIDC_SCOPES: ['openid profile email', parse.oidcScopes],
  OIDC_ROLE_CLAIM: ['groups', parse.claimName],
  OIDC_ROLES: ['', parse.oidcRoles],
  OIDC_ACCOUNT: ['', parse.optional(parse.accountId)],
  OIDC_SESSION: ['12h', parse.duration],
  PROOF_HOSTS: ['', parse.proofHosts],
  LOG_LEVEL: ['info', parse.oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])],
} as const satisfies Record<string, readonly [fallback: string, parse: (text: string) => unknown]>

type VariableName = keyof typeof variables

type Value<Name extends VariableName> = ReturnType<(typeof variables)[Name][1]>

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the value of the variable. `check` throws if it conflicts with other variables. */
export type Read = <Name extends VariableName>(name: Name, check?: (value: Value<Name>) => void) => Value<Name>

/** Calls `work` with a function that reads variables, and returns undefined for invalid ones. Throws `StartupFailure`. */
export function readVariables<T>(env: Environment, work: (read: Read) => T): T {
  const errors: string[] = []
  const result = work((name, check) => {
    try {
      const [fallback, parse] = variables[name]
      const value = parse(readText(env, name) ?? fallback) as Value<typeof name>
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
function readText(env: Environment, name: string): string | undefined {
  const direct = env[name]?.trim()
  const path = env[`${name}_FILE`]?.trim()
  if (!path) return direct || undefined
  if (direct) throw new Error(`and ${name}_FILE are both set. Set only one of them.`)
  const text = readContent(path, name).trim()
  // The default must not replace a secret whose file is empty.
  if (text === '') throw new Error(`can't be read: the file in ${name}_FILE is empty.`)
  return text
}

function readContent(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`can't be read from the file in ${name}_FILE: ${(error as Error).message}.`)
  }
}

/** Returns a warning for each name that is probably a misspelled variable, or starts with `CLICKS_` or `OIDC_`. */
export function unknownVariableWarnings(names: readonly string[]): string[] {
  const known = Object.keys(variables).flatMap((name) => [name, `${name}_FILE`])
  return names
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const nearest = nearestName(name, known)
      if (nearest !== undefined) return [`Ignoring unknown variable ${name}. Did you mean ${nearest}?`]
      if (!/^(CLICKS|OIDC)_/.test(name)) return []
      return [`Ignoring unknown variable ${name}. docs/configuration.md lists all variables.`]
    })
}

/** Ignores short names, which resemble too many variables of other programs. */
function nearestName(name: string, known: readonly string[]): string | undefined {
  return known
    .filter((candidate) => candidate.length >= 8)
    .map((candidate) => ({ candidate, steps: distance(candidate, name.toUpperCase()) }))
    .filter(({ candidate, steps }) => steps <= (candidate.length >= 10 ? 2 : 1))
    .sort((a, b) => a.steps - b.steps)[0]?.candidate
}

/** Parses the target of raw clicks. Errors never contain the text, which may contain a password. */
function parseClickSink(text: string): SinkTarget {
  const [, path = ''] = /^jsonl:(.*)$/s.exec(text) ?? []
  if (isPath(path) && !/[/\\]$/.test(path)) return { kind: 'jsonl', path }
  if (/^clickhouse:/i.test(text)) return parseClickHouse(text)
  throw new Error(
    'must be a file, such as jsonl:/var/lib/waymark/clicks.jsonl, or a ClickHouse server, such as clickhouse://user:password@host:8123/database?table=clicks.',
  )
}

const identifier = /^[A-Za-z_]\w*$/
const parameters = ['table', 'secure']

function parseClickHouse(text: string): SinkTarget {
  // A "#" or a second "@" belongs to a password that is not percent-encoded.
  const isPlain = !/[\s\p{Cc}#]|@.*@/u.test(text) && !brokenEncoding.test(text)
  const parts = isPlain ? URL.parse(text) : null
  const { table = 'clicks', secure = '0' } = Object.fromEntries(parts?.searchParams ?? [])
  const unknown = [...(parts?.searchParams.keys() ?? [])].find((name) => !parameters.includes(name))
  if (unknown !== undefined) throw new Error(`has an unknown parameter: ${unknown}.`)
  if (!/^[01]$/.test(secure)) throw new Error('has an invalid parameter: secure must be 0 or 1.')
  if (!identifier.test(table)) throw new Error('has an invalid parameter: table must be a table name.')
  const [scheme, port] = secure === '1' ? ['https', 8443] : ['http', 8123]
  const url = parts?.hostname ? URL.parse(`${scheme}://${parts.hostname}:${parts.port || port}`) : null
  const database = parts?.pathname.replace(/^\//, '') || 'default'
  const user = decode(parts?.username || 'default')
  const password = decode(parts?.password ?? '')
  if (url !== null && identifier.test(database) && user !== null && password !== null) {
    return { kind: 'clickhouse', url: url.origin, user, password, database, table }
  }
  throw new Error(
    'must have the form clickhouse://user:password@host:8123/database?table=clicks. Percent-encode special characters in the password, such as "@", "/" and "%".',
  )
}

/** Returns null if the text is not UTF-8 or has control characters, which headers can't carry. */
function decode(text: string): string | null {
  const plain = decodePercent(text)
  return plain !== null && /\p{Cc}/u.test(plain) ? null : plain
}
