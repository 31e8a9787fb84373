import { join } from 'node:path'
import { defineConfig } from 'rolldown'

export default defineConfig({
  input: join(import.meta.dirname, 'src/start.ts'),
  platform: 'node',
  resolve: { conditionNames: ['gantry-source', 'import', 'node', 'default'] },
  transform: { target: 'node20' },
  output: { format: 'cjs', minify: true, codeSplitting: false },
})
