/**
 * Enables Node's compile cache; for `node --import`. With a warm cache, Node doesn't load the type stripper, which costs
 * 30 ms and 20 MB in each thread. This file is JavaScript, because TypeScript would load the type stripper.
 *
 * The cache is in `node_modules`, because a folder for temporary files may be writable for other users. If the folder
 * can't be written, starts are slower.
 */
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

// Older versions, which `node-version.js` rejects, lack the function.
module.enableCompileCache?.(fileURLToPath(new URL('../../node_modules/.cache/waymark', import.meta.url)))
