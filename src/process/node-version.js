/** Ends the process under an older Node. JavaScript and imported first, because an older Node can't load TypeScript. */
if (Number.parseInt(process.versions.node, 10) < 26) {
  process.stderr.write(
    `Waymark requires Node 26, but this is Node ${process.versions.node}. Run "npm ci", which installs Node 26 for "npm start" and "npx waymark". If you installed Waymark globally, reinstall it without --omit=optional.\n`,
  )
  process.exit(1)
}
