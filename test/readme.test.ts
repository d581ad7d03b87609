import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasCurl, pathWithCurl, pathWithStandIn } from './path.ts'
import { newFolder, startServer } from './processes.ts'
import { repository } from './scripts.ts'
import { rerun, stepsOf, timeless } from './transcript.ts'

const path = join(repository, 'README.md')
const standIn = ['the stand-in for curl', pathWithStandIn] as const

for (const [curl, pathWith] of hasCurl ? [['curl', pathWithCurl] as const, standIn] : [standIn]) {
  test(`every transcript of the README is what its commands print, with ${curl}`, async (t) => {
    const readme = readFileSync(path, 'utf8')
    const DATABASE_URL = `sqlite:${newFolder(t)}/waymark.db`
    const server = await startServer(t, { DATABASE_URL })

    const env = { ...process.env, PATH: pathWith(t), DATABASE_URL, KEY: server.key }
    const now = rerun(readme, { url: server.url, env })

    // To write down what the commands print after a change that is meant: UPDATE_README=1 npm test
    if (process.env.UPDATE_README) writeFileSync(path, now)
    else assert.equal(timeless(now), timeless(readme))
    assert.ok(stepsOf(readme).length > 15)
  })
}

test('every other command of the README is one that CI runs', () => {
  const readme = readFileSync(path, 'utf8')
  const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text = '']) => text.trim().split('\n'))
  assert.deepEqual(commands, ['npm ci && npm start', 'npm ci && npm test'])
})
