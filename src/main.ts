/** `npm start`: the server process. */
import { serve } from './process/serve.ts'

await serve()
