import about from '../package.json' with { type: 'json' }

/** The version of this Waymark, as its package says. */
export const { version } = about

/** The command as users run it: the npm package, whose code is in dist/, installs `waymark`; a clone has it for npx. */
export const program = new URL('.', import.meta.url).pathname.endsWith('/dist/') ? 'waymark' : 'npx waymark'
