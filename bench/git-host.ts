// A host of repositories in a separate process. It answers only the request that lists branches; each repository has `main`.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerQuestions } from './child.ts'

export type GitHostQuestion =
  | { kind: 'open'; repositories: number }
  /** Responds with the time of the push. */
  | { kind: 'push'; repository: number }
  /** How often repositories were asked for. */
  | { kind: 'count' }

/** How often each was pushed to. */
const pushes: number[] = []
let asked = 0

async function open(repositories: number): Promise<{ port: number }> {
  pushes.push(...Array.from({ length: repositories }, () => 0))
  const server = createServer((request, response) => {
    const number = /^\/acme\/shop-(\d+)\.git\/git-upload-pack$/.exec(request.url!)?.[1]
    request.resume().on('end', () => {
      if (number === undefined) return response.writeHead(404).end()
      asked += 1
      response.setHeader('content-type', 'application/x-git-upload-pack-result')
      return response.end(tipsOf(Number(number)))
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port }
}

function tipsOf(repository: number): string {
  const commit = `${repository}`.padStart(20, '0') + `${pushes[repository]}`.padStart(20, '0')
  const line = `${commit} refs/heads/main\n`
  return `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
}

answerQuestions<GitHostQuestion>(async (question) => {
  switch (question.kind) {
    case 'open':
      return open(question.repositories)
    case 'push':
      pushes[question.repository]! += 1
      return { at: Date.now() }
    case 'count':
      return { asked }
  }
})
