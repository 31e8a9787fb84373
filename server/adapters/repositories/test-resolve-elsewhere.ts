// A separate process that resolves the branch main: to be killed, or started where something is missing.
import { createRepositories } from './repositories.ts'

const [folder, repository, idleMs] = process.argv.slice(2) as [string, string, string]
const repositories = createRepositories({
  folder,
  allowRemote: async () => ({ kind: 'allowed' }),
  timeouts: { idleMs: Number(idleMs) },
})
const resolved = await repositories.resolve({
  applicationId: 1,
  repository,
  token: null,
  source: { type: 'branch', ref: 'main' },
  signal: new AbortController().signal,
  onLine: () => {},
})
console.log(JSON.stringify(resolved))
