/** Tests in which writers work until their server is killed, in several rounds. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { type Browser, signedIn } from '../dashboard.ts'
import { type LoggedEvent, readEvents, replay, type State } from '../event-log.ts'
import { type Engine, engines, isCut, KilledServer } from './killed-server.ts'
import { Ledger } from './ledger.ts'

/** Kills of the servers of one database, whose records are all compared after each. */
const maxRounds = 10

/** What one writer uses in a round. */
export interface WriterTools {
  /** Unique in the test. */
  readonly name: string
  readonly killed: KilledServer
  readonly ledger: Ledger
  /** A session of the first member, which all writers share. */
  readonly browser: Browser
}

export interface Rounds {
  readonly title: string
  /** The number of kills. */
  readonly rounds: Readonly<Record<Engine, number>>
  readonly writers: number
  /** The server is killed after this many acknowledged requests of a round. */
  readonly requests: readonly [least: number, most: number]
  readonly kinds: Parameters<typeof readEvents>[2]
  /** Returns what a writer repeats until the server is killed. */
  readonly write: (tools: WriterTools) => () => Promise<void>
  /** Reads the records that the events describe. */
  readonly read: (killed: KilledServer) => Promise<State>
  /** Checks what else must be true after the next start. May send further requests. */
  readonly check: (killed: KilledServer, ledger: Ledger, events: readonly LoggedEvent[]) => Promise<void>
}

/** Defines a test for each engine: after each kill, every acknowledged change has its events, and every event its change. */
export function testRounds({ title, rounds, writers, requests: [least, most], ...given }: Rounds): void {
  for (const engine of engines) {
    test(`${title}: ${engine}`, async (t) => {
      let killed = await KilledServer.start(t, engine)
      let ledger = new Ledger()
      for (let round = 0; round < rounds[engine]; round++) {
        if (round > 0 && round % maxRounds === 0) {
          await killed.server.end('SIGTERM')
          ;[killed, ledger] = [await KilledServer.start(t, engine), new Ledger()]
        }
        const browser = await signedIn(killed.server)
        const killAt = ledger.acknowledged + randomInt(least, most)
        const work = Array.from({ length: writers }, (_, writer) =>
          repeatUntilCut(given.write({ name: `r${round}-w${writer}`, killed, ledger, browser })),
        )
        await killed.killDuring(work, () => ledger.acknowledged >= killAt)
        await killed.removed()
        const events = await readEvents(killed.variables, 'true', given.kinds)
        ledger.check(events)
        await given.check(killed, ledger, events)
        assert.deepEqual(
          await given.read(killed),
          replay(await readEvents(killed.variables, 'true', given.kinds)),
          'the events do not describe the records',
        )
      }
      t.diagnostic(
        `Kills: ${rounds[engine]}. In the last database, ${ledger.acknowledged} requests were acknowledged, and ${ledger.cut} cut off`,
      )
      assert.ok(ledger.acknowledged >= killed.kills * least)
    })
  }
}

async function repeatUntilCut(step: () => Promise<void>): Promise<void> {
  try {
    for (;;) await step()
  } catch (error) {
    if (!isCut(error)) throw error
  }
}
