import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// The way in. What Node makes of the sources is kept for the next start, which is then twice as fast; where
// the folder cannot be written, nothing is kept and everything works.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/gantry-compiled', import.meta.url)))
const { runProcess } = await import('./process.ts')
await runProcess()
