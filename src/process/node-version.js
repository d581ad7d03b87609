/** Which Node runs Waymark. JavaScript and imported first, because an older Node can't load TypeScript. */

/** The first major version with `Temporal` and `Map.getOrInsertComputed`. `crypto.argon2` and `node:sqlite` are older. */
const oldestMajor = 26

/** Whether this Node runs Waymark. */
export const isNewEnough = Number.parseInt(process.versions.node, 10) >= oldestMajor

/** Ends the process under an older Node. */
export function rejectOlderNode() {
  if (isNewEnough) return
  process.stderr.write(
    `Waymark requires Node 26, but this is Node ${process.versions.node}. Run "npm ci", which installs Node 26 for "npm start" and "npx waymark", or install Node 26 yourself.\n`,
  )
  process.exit(1)
}
