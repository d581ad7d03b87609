/**
 * A process that spools clicks until it is killed, and says of each that it is kept: `node spooling.ts FOLDER SINK FIRST`,
 * where SINK is as in CLICKS_SINK and FIRST the link of the first click.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { openSink } from '../src/analytics/sink/open.ts'
import { readConfig } from '../src/config/config.ts'
import { clickOf } from './click-rows.ts'

const [spool = '', sink, first] = process.argv.slice(2)
const config = readConfig({ CLICKS_SINK: sink, CLICKS_SPOOL: spool }).clicksSink
const spooled = openSink(config, (error) => process.stdout.write(`${error}\n`))
spooled?.begin()
for (let link = Number(first); ; link++) {
  spooled?.put([clickOf(link)])
  process.stdout.write(`kept ${link}\n`)
  await turn()
}
