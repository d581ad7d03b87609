/**
 * Entry of the thread that classifies and writes clicks, with a connection of its own: a batch takes tens of milliseconds,
 * which the event loop does not have.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Failure } from '../errors.ts'
import { ClickBook } from '../storage/clicks/book.ts'
import { oneAtATime } from '../storage/clicks/one-at-a-time.ts'
import type { Click, Recorded } from '../storage/clicks/recording.ts'
import { clearRemoved, forgetDays } from '../storage/clicks/sweep.ts'
import { openClicks } from '../storage/open-clicks.ts'
import { openCountries } from './capture/country-file.ts'
import { FactReader } from './capture/facts.ts'
import { type PackedVisits, unpack, type Visit } from './capture/visit.ts'
import { visitorOf } from './capture/visitor.ts'
import { openSink } from './sink/open.ts'
import { rowsOf } from './sink/row.ts'
import { Dropped, SpoolUnusable } from './sink/sink.ts'
import {
  type Bounds,
  type FromThread,
  ofCountryFile,
  ofSink,
  type SinkTrouble,
  type ThreadOptions,
  type ToThread,
} from './writer.ts'

const measuredEveryMs = 1_000
const hourMs = 3_600_000

const { location, writer, geoipDb, clicksSink, measured } = workerData as ThreadOptions
const port = parentPort as MessagePort
const countries = await openCountries(geoipDb, (countryFile) => {
  port.postMessage({ id: ofCountryFile, isDone: true, countryFile } satisfies FromThread)
})
const connection = oneAtATime(await openClicks(location))
const book = new ClickBook(connection, writer)
const sink = openSink(clicksSink, (error) => {
  const message = { id: ofSink, isDone: false, error: String(error), sinkTrouble: sinkTroubleOf(error) }
  port.postMessage(message satisfies FromThread)
})
sink?.begin()
if (sink !== null) setInterval(() => measured.set(sink.measured), measuredEveryMs).unref()

port.on('message', (asked: ToThread) => void (asked === null ? end() : answer(asked)))

async function end(): Promise<void> {
  await connection.close()
  await sink?.close()
  port.close()
}

async function answer(asked: NonNullable<ToThread>): Promise<void> {
  const { id } = asked
  try {
    port.postMessage({ id, isDone: await done(asked) } satisfies FromThread)
  } catch (error) {
    port.postMessage({ id, isDone: false, ...toldOf(error) } satisfies FromThread)
  }
}

async function done(asked: NonNullable<ToThread>): Promise<boolean> {
  switch (asked.work) {
    case 'start':
      return true
    case 'write':
      await book.write(asked.batch, clicksIn(asked.visits), passOn)
      return true
    case 'take':
      return book.take(clicksIn(asked.visits)[0] as Click, passOn)
    case 'forget':
      return book.forget(asked.account, asked.link)
    case 'sweep':
      await sweep(asked)
      return true
    case 'drop':
      book.dropSalts(asked.before)
      return true
  }
}

/** In many transactions, between which clicks are written. What a stop leaves is done after the next start. */
async function sweep({ visitorsBefore, daysBefore }: Bounds): Promise<void> {
  await book.move()
  await clearRemoved(connection)
  await forgetDays(connection, daysBefore)
  await book.forgetVisitors(visitorsBefore)
}

/** Before the commit: a kill in between costs the sink nothing, and gives it at most what the totals do not have. */
function passOn(clicks: readonly Click[], recorded: readonly Recorded[]): void {
  if (sink !== null) sink.put(clicks.flatMap((click, at) => rowsOf(click, recorded[at])))
}

function clicksIn(visits: PackedVisits): Click[] {
  const facts = new FactReader(countries)
  return unpack(visits).map((visit) => clickOf(visit, facts))
}

function clickOf(visit: Visit, facts: FactReader): Click {
  const { link, atMs, count, isPrivate, class: of } = visit
  const isKnown = of === 'person' && !isPrivate
  return {
    link,
    // Of a visitor who asks not to be tracked, no more is kept than the hour.
    atMs: isPrivate ? atMs - (atMs % hourMs) : atMs,
    seenMs: atMs,
    count,
    class: of,
    facts: isKnown ? facts.of(visit) : null,
    visitorUnder: isKnown ? (salt) => visitorOf(visit, salt) : null,
  }
}

function sinkTroubleOf(error: unknown): SinkTrouble {
  if (error instanceof SpoolUnusable) return 'unusable spool'
  return error instanceof Dropped ? 'dropped' : 'waiting'
}

/** An error as it can be sent. */
function toldOf(error: unknown): Omit<FromThread, 'id' | 'isDone'> {
  if (!(error instanceof Failure)) return { error }
  const { cause, reason } = error.facts
  return { error: cause, isAway: true, ...(reason !== undefined && { reason }) }
}
