/**
 * What the kernel calls of `node:http`. A static import would also load what that module only has lazily, such as a
 * WebSocket client: 16 MB and a fifth of the start (ADR 18).
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
