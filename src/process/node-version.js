/** Ends the process under an older Node. JavaScript and imported first, because an older Node can't load TypeScript. */
if (Number.parseInt(process.versions.node, 10) < 26) {
  process.stderr.write(
    `Waymark runs on Node 26, and this is Node ${process.versions.node}. Run "npm ci" once, which installs Node 26 for "npm start" and "npx waymark". If the command is global, install Waymark again without --omit=optional.\n`,
  )
  process.exit(1)
}
