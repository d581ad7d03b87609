import { parseArgs } from 'node:util'

export interface Options {
  /** Numbers of records, ascending. */
  readonly sizes: readonly number[]
  /** Names of cases, or of groups such as `search`; null for the usual ones. */
  readonly only: readonly string[] | null
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  /** How many starts are timed. */
  readonly starts: number
  readonly quick: boolean
  /** On PostgreSQL instead of SQLite. */
  readonly postgres: boolean
  /** How many Waymark processes share the load of each database. */
  readonly nodes: number
  readonly json: boolean
  /** Whether the figures are printed as in README.md here. */
  readonly markdown: boolean
  /** Whether the figures are held to the targets, and a missed one fails the run. */
  readonly gate: boolean
}

export const usage = `npm run bench -- [options]

  --quick             1,000 records, the main cases, three short rounds: about a minute
  --records 1000,…    numbers of records (default: 1000,1000000)
  --only show,list    only these cases; "search" includes every case whose name starts with it
  --rounds 5          rounds per case
  --postgres          on PostgreSQL: the server at TEST_POSTGRES_URL, or a new server
  --nodes 2           several Waymark processes per database, which share the 32 connections
  --json              figures as JSON on stdout
  --markdown          figures on stdout, as Markdown tables
  --gate              compare the figures with the targets in bench/targets.ts; exit code 1 if one is missed
  --help              this text
`

/** A command line that cannot be understood. The message is a sentence for the user. */
export class WrongUse extends Error {}

/** Reads the command line; null when it asks for help. Throws `WrongUse`. */
export function readOptions(args: readonly string[]): Options | null {
  const values = parse(args)
  if (values.help) return null
  const pace = values.quick ? quickPace : fullPace
  const nodes = nodesOf(values.nodes)
  if (nodes > 1 && values.gate) throw new WrongUse('--gate has targets for one node only: leave out --nodes.')
  return {
    ...pace,
    sizes: values.records === undefined ? pace.sizes : integers(values.records, '--records').sort((a, b) => a - b),
    only: values.only?.split(',') ?? null,
    rounds: values.rounds === undefined ? pace.rounds : (integers(values.rounds, '--rounds')[0] as number),
    quick: values.quick,
    postgres: values.postgres,
    nodes,
    json: values.json,
    markdown: values.markdown,
    gate: values.gate,
  }
}

const fullPace = { sizes: [1_000, 1_000_000], rounds: 5, roundSeconds: 1.2, warmUpSeconds: 1, starts: 5 }
const quickPace = { sizes: [1_000], rounds: 3, roundSeconds: 0.4, warmUpSeconds: 0.6, starts: 3 }

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  try {
    const options = {
      help: flag,
      quick: flag,
      postgres: flag,
      json: flag,
      markdown: flag,
      gate: flag,
      records: text,
      only: text,
      rounds: text,
      nodes: text,
    }
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new WrongUse((error as Error).message)
  }
}

function nodesOf(text = '1'): number {
  if (/^(1|2|4|8)$/.test(text)) return Number(text)
  throw new WrongUse(`--nodes must be 1, 2, 4 or 8, not "${text}".`)
}

function integers(list: string, option: string): number[] {
  return list.split(',').map((text) => {
    if (!/^[1-9]\d{0,7}$/.test(text)) throw new WrongUse(`${option} takes integers from 1, not "${text}".`)
    return Number(text)
  })
}
