/** `npm start`: the server process. */
import { keepCompiledCode, useCompiledCode } from './compile-cache.ts'

useCompiledCode()
const { serve } = await import('./serve.ts')
await serve()
keepCompiledCode()
