#!/usr/bin/env node
/** `waymark …`, `npx waymark …` and `npm start`: starts Waymark under Node 26 or newer. */
import { fileURLToPath } from 'node:url'
import { launch, source } from './launch.js'

/** Options of Node that keep the memory of the server and of long commands small. */
const nodeOptions = ['--max-semi-space-size=8', '--heap-growing-percent=50']

const compileCache = new URL('process/compile-cache.js', source).href
const args = process.argv.slice(2)
const isServer = args.length === 1 && args[0] === 'start'
launch([
  ...nodeOptions,
  '--import',
  compileCache,
  fileURLToPath(new URL(isServer ? 'main.js' : 'cli.js', source)),
  ...(isServer ? [] : args),
])
