/**
 * For `node --import`: compiled code is kept from one start to the next. In JavaScript, since it runs before any
 * TypeScript is loaded: with a warm cache Node then never loads the type stripper, which costs 30 ms and 20 MB in the main
 * thread and in each reader thread.
 *
 * The code is kept within `node_modules`: whoever may write there may change the code itself, which cannot be said of a
 * folder for temporary files. Where that folder cannot be written, a start is slower and nothing else.
 */
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

// Missing from the older versions that `node-version.js` refuses.
module.enableCompileCache?.(fileURLToPath(new URL('../../node_modules/.cache/waymark', import.meta.url)))
