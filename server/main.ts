import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// The entry point. Node caches the compiled sources, which makes the next start twice as fast; if the folder is
// not writable, Gantry works without the cache.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/gantry-compiled', import.meta.url)))
const { runProcess } = await import('./process.ts')
await runProcess()
