import type { ServerCommand } from './command.ts'

export const startCommand: ServerCommand = {
  summary: 'Start the server, as "npm start" does.',
  synopsis: '',
  details: `It reads environment variables, which docs/configuration.md lists, and runs until it is told to stop (Ctrl-C).
Its first start makes the database, and prints an address that opens the dashboard and an API key.`,
  options: {},
  takesOperand: false,
  serves: true,
}
