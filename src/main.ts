import { pino } from 'pino'
import { buildApp } from './app.ts'
import { readConfig } from './config.ts'
import { openStorage } from './storage/open.ts'
import { createAccount } from './accounts/store.ts'
import { createKey } from './keys/store.ts'

const config = readConfig()
const storage = await openStorage(config.storage)
const logger = pino({ level: config.logLevel }, pino.destination({ sync: false, minLength: 4096 }))
const a = await createAccount(storage, 'x')
const k = await createKey(storage, { account: a.id, name: 'k', scopes: ['*'], expiresAt: null })
console.log(k.secret)
const { server } = await buildApp({ ...config, storage, logger })
console.log(await server.listen({ host: config.host, port: config.port }))
