import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clicksOf, SinkInMemory } from '../../../test/click-rows.ts'
import { eventually, newFolder } from '../../../test/processes.ts'
import { ClickSink } from './open.ts'
import { SpoolUnusable } from './sink.ts'
import { Spool } from './spool.ts'
import { openSpoolFolder } from './spool-folder.ts'

for (const [what, block] of [
  ['a path below a file', (root: string) => root],
  ['a folder with a file in place of its first subfolder', (root: string) => join(root, '0')],
] as const) {
  test(`reports ${what} once, and drops and counts clicks until the spool can be opened`, async (t) => {
    const root = join(newFolder(t), 'spool')
    const [sink, problems] = [new SinkInMemory(), [] as unknown[]]
    const onProblem = (error: unknown) => problems.push(error)
    const file = block(root)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, '')
    const open = () => new Spool(openSpoolFolder(root), sink, { maxBytes: 1e9, onProblem })
    const clicks = new ClickSink(open, onProblem)
    clicks.put(clicksOf(1, 2))
    clicks.put(clicksOf(3, 3))
    assert.deepEqual(clicks.measured, [0, 0, 0, 3])
    assert.equal(problems.length, 1)
    assert.ok(problems[0] instanceof SpoolUnusable)
    rmSync(file)
    clicks.put(clicksOf(4, 5))
    await eventually(() => sink.links.length === 2)
    await clicks.close()
    assert.deepEqual(sink.links, [4, 5])
    assert.deepEqual(clicks.measured, [2, 0, 0, 3])
    assert.equal(problems.length, 1)
    const next = openSpoolFolder(root)
    assert.equal(next.number, 0)
    next.close()
  })
}

test('closes without a usable spool', async (t) => {
  const file = join(newFolder(t), 'file')
  writeFileSync(file, '')
  const open = () => new Spool(openSpoolFolder(join(file, 'spool')), new SinkInMemory(), { maxBytes: 1e9, onProblem })
  const onProblem = (error: unknown) => assert.match(String(error), /ENOTDIR/)
  await new ClickSink(open, onProblem).close()
})
