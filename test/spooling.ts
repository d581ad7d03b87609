/**
 * Spools clicks until it is killed, and prints each stored one: `node spooling.ts FOLDER SINK FIRST`. SINK is a value of
 * CLICKS_SINK, and FIRST the link of the first click.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import { openSink } from '../src/analytics/sink/open.ts'
import { readConfig } from '../src/config/config.ts'
import { clickOf } from './click-rows.ts'

const [spool = '', sink, first] = process.argv.slice(2)
const config = readConfig({ CLICKS_SINK: sink, CLICKS_SPOOL: spool }).clicksSink
const spooled = openSink(config, (error) => process.stdout.write(`${error}\n`))
for (let link = Number(first); ; link++) {
  spooled?.put([clickOf(link)])
  process.stdout.write(`kept ${link}\n`)
  await nextTick()
}
