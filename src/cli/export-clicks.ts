import { dayFrom } from '../analytics/days.ts'
import { accountOf, fileOf } from './arguments.ts'
import { chosenAccount } from './chosen-account.ts'
import { type Command, type Given, program, WrongUse } from './command.ts'
import { writeExport } from './written.ts'

export const exportClicksCommand = {
  summary: 'Write the clicks of links by day, as JSON Lines or for spreadsheets.',
  synopsis: '[FILE] [--format FORMAT] [--from DAY] [--to DAY] [--account ID] [--force]',
  details: `  FILE              where they go; standard output when it is left out or "-"
  --format FORMAT   jsonl (default): a line for each day of a link, with its hours; csv: a row for each day and link
                    (dimension "total"), and one for each value of a dimension, such as "countries", "DE"
  --from DAY        the first day, such as 2026-11-01, in UTC (default: the oldest)
  --to DAY          the last day, which is included (default: the newest)
  --account ID      whose clicks; may be left out when there is only one account
  --force           replace the file if there is one

A file that is called clicks is named ./clicks. "${program} import" takes JSON Lines back, for links with the same
domain and alias. To take links to another instance with their clicks, use "${program} export".`,
  options: {
    format: { type: 'string', default: 'jsonl' },
    from: { type: 'string' },
    to: { type: 'string' },
    account: { type: 'string' },
    force: { type: 'boolean' },
  },
  takesOperand: 'file',
  makesDatabase: false,
  prepare: (given) => {
    const [file, named, force] = [fileOf(given), accountOf(given), given.values.force === true]
    const { format, from, to } = given.values
    if (format !== 'jsonl' && format !== 'csv') throw new WrongUse('--format takes jsonl or csv.')
    for (const option of ['from', 'to'] as const) refuseNoDay(given, option)
    if (from !== undefined && to !== undefined && from > to) throw new WrongUse('--from is later than --to.')
    return async (db, surroundings) => {
      const account = await chosenAccount(db, named)
      const { clickTexts } = await import('../analytics/texts.ts')
      const period = { from: from as string | undefined, to: to as string | undefined }
      await writeExport(clickTexts(db, account, format, period), { file, force }, surroundings)
      return ''
    }
  },
} as const satisfies Command

function refuseNoDay({ values }: Given, option: 'from' | 'to'): void {
  const text = values[option]
  if (text === undefined || dayFrom(String(text)) !== undefined) return
  throw new WrongUse(`--${option} takes a day such as 2026-11-20.`)
}
