import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { newLink, twoNodes } from '../../test/links.ts'
import { eventually, newFolder } from '../../test/processes.ts'
import { Failure } from '../errors.ts'
import { Clicks } from './clicks.ts'

test('logs that the thread did not start, and writes the clicks once it starts', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const { location } = storage
  if (location.engine !== 'sqlite') return
  // The thread can't open a file in a missing folder.
  const path = join(newFolder(t), 'missing', 'test.db')
  const problems = new Map<string, unknown>()
  const clicks = new Clicks(Object.assign(Object.create(storage), { location: { engine: 'sqlite', path } }), {
    geoipDb: null,
    clicksSink: null,
    clicksRetention: 0,
    onProblem: (error, meaning) => problems.set(meaning, error),
  })
  t.after(() => clicks.close())
  clicks.begin({ expectsClicks: true })
  const meaning = 'the thread that writes clicks did not start; the next click starts it again'
  await eventually(() => problems.has(meaning))
  assert.ok(problems.get(meaning) instanceof Failure)

  await mkdir(dirname(path))
  using database = new DatabaseSync(location.path)
  database.exec(`vacuum into '${path}'`)
  const sent = { address: '', host: '', userAgent: '', referrer: '', languages: '', country: '' }
  clicks.count({ link, atMs: Date.now(), class: 'person', isPrivate: true, ...sent, count: 1 })
  using copy = new DatabaseSync(path)
  const written = copy.prepare('select clicks from link_clicks where clicks > 0')
  await eventually(() => written.get() !== undefined)
})
