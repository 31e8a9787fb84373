import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import type { RepositoryHost } from './host.ts'

export const HOST_PROVIDERS = ['github', 'gitlab', 'gitea'] as const
export type HostProvider = (typeof HOST_PROVIDERS)[number]

export const HOSTS: Readonly<Record<HostProvider, RepositoryHost>> = { github, gitlab, gitea }

export function isHostProvider(code: string | null): code is HostProvider {
  return code !== null && Object.hasOwn(HOSTS, code)
}
