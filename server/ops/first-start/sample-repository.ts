import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GitMissingError, readGit } from '#adapters/repositories/git.ts'

const PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Hello Gantry</title>
<h1>Hello Gantry</h1>
<p>Change this file, commit, push: the next deploy shows it.</p>
</html>
`
const BUILD = `#!/bin/sh
# Runs in every new release before it goes live.
date -u +%FT%TZ > built-at.txt
`

/**
 * A bare repository with one commit, under GANTRY_HOME; returns its URL. Created under another name and renamed, so
 * that a killed first start leaves nothing incomplete. Without git, only the URL is returned: deploys will report
 * that the repository does not exist.
 */
export async function createSampleRepository(home: string): Promise<string> {
  const path = join(home, 'repositories', 'sample', 'hello-gantry.git')
  if (!existsSync(path))
    await createAt(path).catch((error) => {
      if (!(error instanceof GitMissingError)) throw error
    })
  return pathToFileURL(path).href
}

async function createAt(path: string): Promise<void> {
  const repository = `${path}.draft`
  await rm(repository, { recursive: true, force: true })
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await git(['init', '--quiet', '--bare', '--initial-branch=main'])
  const page = await git(['hash-object', '-w', '--stdin'], PAGE)
  const build = await git(['hash-object', '-w', '--stdin'], BUILD)
  const tree = await git(['mktree'], `100755 blob ${build}\tbuild.sh\n100644 blob ${page}\tindex.html\n`)
  const commit = await git(['commit-tree', '-m', 'Say hello', tree])
  await git(['update-ref', 'refs/heads/main', commit])
  await rename(repository, path)

  async function git(args: string[], input?: string): Promise<string> {
    const { signal } = new AbortController()
    const { code, output, errors } = await readGit({ repository, args, input, environment: AUTHOR, signal })
    if (code !== 0) throw new Error(`git could not create the sample repository: ${errors.trim()}`)
    return output.trim()
  }
}

/** Not the user who starts Gantry. */
const AUTHOR = {
  GIT_AUTHOR_NAME: 'Gantry',
  GIT_AUTHOR_EMAIL: 'gantry@localhost',
  GIT_COMMITTER_NAME: 'Gantry',
  GIT_COMMITTER_EMAIL: 'gantry@localhost',
}
