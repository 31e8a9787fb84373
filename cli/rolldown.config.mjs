import { join } from 'node:path'
import { defineConfig } from 'rolldown'

export default defineConfig({
  input: join(import.meta.dirname, 'src/main.ts'),
  platform: 'node',
  resolve: { conditionNames: ['gantry-source', 'import', 'node', 'default'] },
  transform: { target: 'node20' },
  treeshake: true,
  output: { format: 'esm', banner: '#!/usr/bin/env node', minify: true, codeSplitting: false },
})
