import about from '../package.json' with { type: 'json' }

/** The version of this Waymark, as its package says. */
export const { version } = about
