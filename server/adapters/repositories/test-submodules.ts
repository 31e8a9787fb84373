// Repositories with submodules, on git servers on loopback ports.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type FileContent, makeRepository, type TestRepository } from '#test/support/repository.ts'
import { type Opened, temporaryFolder, unpack } from './fixtures.ts'
import type { ResolveRequest } from './resolve.ts'
import { type GitServer, serveGit } from './test-git-server.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type GitHost = GitServer & {
  /** Of all requests, in the order of arrival. */
  authorizations: (string | undefined)[]
  make(name: string, files: Record<string, FileContent>): Promise<HostedRepository>
}

export type HostedRepository = TestRepository & {
  /** Where the server has it. */
  url: string
  /** Of its branch main. */
  hash: string
}

export async function openHost(
  t: Closer,
  options: Partial<Parameters<typeof serveGit>[1]> = {},
): Promise<GitHost> {
  const folder = options.folder ?? (await temporaryFolder(t))
  const authorizations: (string | undefined)[] = []
  const before = (request: IncomingMessage, response: ServerResponse) => {
    authorizations.push(request.headers.authorization)
    return options.before?.(request, response) ?? false
  }
  const server = await serveGit(t, { ...options, folder, before })
  return {
    ...server,
    authorizations,
    async make(name, files) {
      const repository = await makeRepository(t, { name, files, parent: folder })
      return {
        ...repository,
        url: `${server.url}/${name}.git`,
        hash: await repository.git(['rev-parse', 'main']),
      }
    },
  }
}

/** The file `.gitmodules`, and the submodules themselves: path → where it is, and its commit. */
export function withSubmodules(
  submodules: Record<string, { url: string; hash: string; more?: string }>,
): Record<string, FileContent> {
  const entries = Object.entries(submodules)
  const texts = entries.map(
    ([path, { url, more = '' }]) =>
      `[submodule ${JSON.stringify(path)}]\n\tpath = ${path}\n\turl = ${url}\n${more}`,
  )
  return {
    '.gitmodules': texts.join(''),
    ...Object.fromEntries(entries.map(([path, { hash }]) => [path, { submoduleAt: hash }])),
  }
}

export const FETCH = { mode: 'fetch' as const, rootDirectory: null }

/** Resolves the branch main with its submodules; returns its files, or the reason in capitals and the message. */
export async function deploy(
  t: Closer,
  gantry: Opened,
  request: Partial<ResolveRequest>,
): Promise<Record<string, string> | string> {
  const resolved = await gantry.take({ submodules: FETCH, ...request })
  if (resolved.kind !== 'resolved') return `${resolved.kind.toUpperCase()} ${resolved.message}`
  const { commit, submodules } = resolved
  const { rootDirectory } = request.submodules ?? FETCH
  const { applicationId = 1, signal = new AbortController().signal } = request
  return unpack(t, gantry.archive({ applicationId, hash: commit.hash, submodules, rootDirectory, signal }))
}
