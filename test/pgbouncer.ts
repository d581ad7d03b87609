/** PgBouncer in transaction mode between the tests and their PostgreSQL, where it is installed. */
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execute } from './postgres.ts'
import { type Bench, eventually, freePort, newFolder, startProgram } from './processes.ts'

/** Why a test that needs this version, 1.x, can't run here; false if it can. */
export function missingPgBouncer(minMinor = 0): string | false {
  const { stdout, error } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  const [text, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  if (error !== undefined || text === undefined) return 'pgbouncer is not on the PATH'
  return Number(major) === 1 && Number(minor) < minMinor ? `${text} is older than 1.${minMinor}` : false
}

/** Starts PgBouncer in front of the server of `url`, with three server connections for each database. Returns its URL. */
export async function startPgBouncer(t: Bench, url: string, settings: readonly string[]): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const ownPort = await freePort()
  const file = join(newFolder(t), 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 3',
    ...settings,
  ]
  writeFileSync(file, lines.join('\n'))
  chmodSync(file, 0o644)
  // It refuses to run as root.
  const asUser = process.getuid?.() === 0 ? ['--user=nobody'] : []
  startProgram(t, ['pgbouncer', ...asUser, file], {})
  const pooled = `postgres://${username}@127.0.0.1:${ownPort}${pathname}`
  const isReady = () =>
    execute(pooled, 'select 1').then(
      () => true,
      () => false,
    )
  await eventually(isReady)
  return pooled
}
