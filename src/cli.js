/** The command line: `npx waymark …`, by way of bin/waymark.js, and `npm run -s waymark -- …`. */
import './process/node-version.js'

await import('./cli/main.ts')
