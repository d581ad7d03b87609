/** `npm start`: the server process. */
import { flushCompileCache } from 'node:module'
import { serve } from './process/serve.ts'

await serve()
// Node itself writes down what was compiled at a clean exit only.
flushCompileCache()
