import { distance } from 'fastest-levenshtein'
import { parseClickSink } from './click-sink.ts'
import { parseDatabaseUrl } from './database-url.ts'
import * as parse from './parsers.ts'

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
  BASE_URL: ['', parse.baseUrl],
  SHORT_URL: ['', parse.shortUrl],
  STALE_FOR: ['3600', parse.integer(0, 31_536_000)],
  TRUST_PROXY: ['off', parse.trustProxy],
  CORS_ORIGINS: ['', parse.corsOrigins],
  DATABASE_URL: ['sqlite:data/waymark.db', parseDatabaseUrl],
  DATABASE_POOL: ['10', parse.integer(1, 100)],
  BOOTSTRAP_KEY: ['', parse.bootstrapKey],
  RATE_LIMIT: ['6000', parse.integer(0, 1_000_000_000)],
  CLICKS_SINK: ['', parseClickSink],
  CLICKS_SPOOL: ['', parse.folder],
  CLICKS_SPOOL_MAX: ['1000', parse.integer(1, 1_000_000)],
  CLICKS_RETENTION: ['730', parse.integer(0, 36_500)],
  GEOIP_DB: ['', (text: string) => text || null],
  COUNTRY_HEADER: ['', parse.countryHeader],
  LOG_LEVEL: ['info', parse.oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])],
} as const satisfies Record<string, readonly [fallback: string, parse: (text: string) => unknown]>

export type VariableName = keyof typeof variables

export type Value<Name extends VariableName> = ReturnType<(typeof variables)[Name][1]>

/** Misspelt names shorter than this are not recognized, because they resemble too many other variables. */
const minLength = 8
/** Names of at least this length may have two wrong letters, shorter ones one. */
const longLength = 10

/**
 * Returns a warning for each name that is probably a misspelled variable or starts with `CLICKS_`. Other unknown names belong
 * to other programs.
 */
export function unknownVariableWarnings(names: readonly string[]): string[] {
  const known = Object.keys(variables).flatMap((name) => [name, `${name}_FILE`])
  return names
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const nearest = nearestName(name, known)
      if (nearest !== undefined) return [`Ignoring unknown variable ${name}. Did you mean ${nearest}?`]
      if (!name.startsWith('CLICKS_')) return []
      return [`Ignoring unknown variable ${name}. docs/configuration.md lists all variables.`]
    })
}

function nearestName(name: string, known: readonly string[]): string | undefined {
  return known
    .filter((candidate) => candidate.length >= minLength)
    .map((candidate) => ({ candidate, steps: distance(candidate, name.toUpperCase()) }))
    .filter(({ candidate, steps }) => steps <= (candidate.length >= longLength ? 2 : 1))
    .sort((a, b) => a.steps - b.steps)[0]?.candidate
}
