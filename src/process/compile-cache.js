/** Enables Node's compile cache, for `node --import`. A TypeScript file would load the type stripper: 30 ms, 20 MB. */
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

// Other users may be able to write to a folder for temporary files. Older versions, which `node-version.js` rejects, lack the function.
module.enableCompileCache?.(fileURLToPath(new URL('../../node_modules/.cache/waymark', import.meta.url)))
