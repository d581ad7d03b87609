/** `npm start`: the server process. */
import { rejectOlderNode } from './process/node-version.js'

rejectOlderNode()
const { serve } = await import('./process/serve.ts')
await serve()
