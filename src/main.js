/** `npm start`: the server process. */
import './process/node-version.js'

const { serve } = await import('./process/serve.ts')
await serve()
