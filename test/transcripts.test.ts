import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathWithCurl } from './path.ts'
import { freePortRow, newFolder, type Variables } from './processes.ts'
import { repository } from './scripts.ts'
import { rerun, stepsOf, timeless } from './transcript.ts'
import { serverArguments, withFastNpm } from './waymark.ts'

/** The pages with transcripts, and how many commands they have at least. */
const pages = { install: 1, monitoring: 3, backup: 14 }

/** Creates a folder with a `systemctl` that starts and stops the server. */
function systemctlFolder(t: TestContext): { folder: string; log: string } {
  const folder = newFolder(t)
  const [pid, log, script] = [join(folder, 'pid'), join(folder, 'log'), join(folder, 'systemctl')]
  const server = [process.execPath, ...serverArguments].map((word) => `'${word}'`).join(' ')
  writeFileSync(
    script,
    `#!/bin/sh
case "$1" in
  start)
    : > '${log}'
    ${server} < /dev/null >> '${log}' 2>&1 &
    echo $! > '${pid}'
    until grep -q 'is listening' '${log}'; do kill -0 $! && sleep 0.05 || exit 1; done ;;
  stop)
    kill -TERM $(cat '${pid}')
    while kill -0 $(cat '${pid}') 2> /dev/null; do sleep 0.05; done ;;
esac
`,
  )
  chmodSync(script, 0o755)
  return { folder, log }
}

for (const [page, commands] of Object.entries(pages)) {
  test(`the commands of docs/${page}.md print its transcripts`, (t) => rehearse(t, page, commands))
}

/** Runs every command of the page on a new database, and compares the output. */
async function rehearse(t: TestContext, page: string, commands: number): Promise<void> {
  const path = join(repository, 'docs', `${page}.md`)
  const document = readFileSync(path, 'utf8')
  const port = await freePortRow(2)
  const opsPort = port + 1
  // Registered before the folders, so that the server stops before they are removed.
  t.after(() => systemctl('stop'))
  const [data, backups] = [newFolder(t), newFolder(t)]
  const { folder, log } = systemctlFolder(t)
  const env = {
    ...(process.env as Variables),
    PATH: folder + delimiter + withFastNpm(t, pathWithCurl(t)),
    DATABASE_URL: `sqlite:${join(data, 'waymark.db')}`,
    PORT: String(port),
    OPS_PORT: String(opsPort),
    REDIRECT_PORT: '0',
  }
  const systemctl = (verb: string) => spawnSync('systemctl', [verb, 'waymark'], { env })
  assert.equal(systemctl('start').status, 0)

  const [KEY = ''] = /wm_\w{49}/.exec(readFileSync(log, 'utf8')) ?? []
  const places = {
    'http://localhost:3090': `http://localhost:${opsPort}`,
    '/var/lib/waymark': data,
    '/var/backups/waymark': backups,
  }
  const now = await rerun(document, { url: `http://localhost:${port}`, places, env: { ...env, KEY } })

  // To update the document: UPDATE_README=1 npm test -- test/transcripts.test.ts
  if (process.env.UPDATE_README) writeFileSync(path, now)
  else assert.equal(timeless(now), timeless(document))
  assert.ok(stepsOf(document).length >= commands)
}
