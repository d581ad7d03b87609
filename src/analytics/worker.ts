/** The worker thread that classifies and stores visits, with its own connection to the database. */
import { workerData } from 'node:worker_threads'
import { startOfHour } from '../accounts/calendar.ts'
import { sendNotice, serveRequests } from '../lib/worker-server.ts'
import { openBatchWriter } from '../storage/batch-writer.ts'
import { openCountries } from './capture/countries.ts'
import { collectFacts } from './capture/facts.ts'
import type { Visit } from './capture/visit.ts'
import { hashVisitor } from './capture/visitor-hash.ts'
import type { ClickNotice, ClickRequest, ClickWorkerData } from './click-requests.ts'
import { type Click, ClickStore, type CountedClick } from './click-store.ts'
import { ClickMaintenance } from './maintenance.ts'
import { openSink } from './sink/open.ts'
import { Dropped, SpoolUnusable, toRows } from './sink/sink.ts'

const metersEveryMs = 1_000

const { location, process, geoipDb, clicksSink } = workerData as ClickWorkerData
const notify = (notice: ClickNotice) => sendNotice(notice)
const countries = await openCountries(
  geoipDb,
  (report) => notify({ kind: 'country file', report }),
  (bytes) => notify({ kind: 'countries', bytes }),
)
const database = await openBatchWriter(location)
const store = new ClickStore(database, process)
const maintenance = new ClickMaintenance(database)
const sink = openSink(clicksSink, reportSinkProblem)
if (sink !== null) setInterval(() => notify({ kind: 'sink meters', values: sink.measured }), metersEveryMs).unref()

serveRequests<ClickRequest, boolean>({
  handle,
  close: async () => {
    await database.close()
    await sink?.close()
  },
})

async function handle(request: ClickRequest): Promise<boolean> {
  switch (request.work) {
    case 'start':
      return true
    case 'write':
      return (await store.write(request.batch, toClicks(request.visits), sendToSink)) !== null
    case 'take':
      return store.take(toClicks([request.visit])[0] as Click, sendToSink)
    case 'delete':
      return maintenance.deleteClicks(request.author, request.link)
    case 'erase':
      await maintenance.erase()
      return true
    case 'maintain':
      await maintenance.run(request.bounds)
      return true
    case 'stop':
      await database.close()
      return true
  }
}

/** Runs before the commit, so that SIGKILL loses no raw click. The sink may get clicks whose commit fails. */
function sendToSink(clicks: readonly CountedClick[]): void {
  sink?.put(clicks.flatMap(toRows))
}

function toClicks(visits: readonly Visit[]): Click[] {
  return visits.map((visit) => {
    const { link, addressId = null, atMs, count, isPrivate, class: of } = visit
    const isKnown = of === 'person' && !isPrivate
    return {
      link,
      addressId,
      // Only the hour of private visits is stored.
      atMs: isPrivate ? startOfHour(atMs) : atMs,
      seenMs: atMs,
      count,
      class: of,
      facts: isKnown ? collectFacts(visit, countries) : null,
      visitorUnder: isKnown ? (salt) => hashVisitor(visit, salt) : null,
    }
  })
}

function reportSinkProblem(error: unknown): void {
  let message = 'raw clicks stay in the spool until this error is fixed'
  if (error instanceof Dropped) message = 'a batch of raw clicks was dropped, because its sink never confirmed it'
  if (error instanceof SpoolUnusable) {
    message = 'raw clicks are dropped until their spool can be written; statistics still count them'
  }
  const level = error instanceof Dropped || error instanceof SpoolUnusable ? 'error' : 'warn'
  notify({ kind: 'sink problem', error: String(error), message, level })
}
