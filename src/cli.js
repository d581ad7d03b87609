/** `npm run -s waymark -- …`: what an operator does at the database that the server uses. */
import './process/node-version.js'

await import('./cli/main.ts')
