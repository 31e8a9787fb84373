import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

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
  const url = pathToFileURL(path).href
  if (existsSync(path) || !(await hasGit())) return url
  const draft = `${path}.draft`
  await rm(draft, { recursive: true, force: true })
  await mkdir(join(home, 'repositories', 'sample'), { recursive: true, mode: 0o700 })
  await git(['init', '--quiet', '--bare', '--initial-branch=main', draft])
  const page = await storeObject(draft, PAGE)
  const build = await storeObject(draft, BUILD)
  const tree = await git(
    ['-C', draft, 'mktree'],
    `100755 blob ${build}\tbuild.sh\n100644 blob ${page}\tindex.html\n`,
  )
  const commit = await git(['-C', draft, 'commit-tree', '-m', 'Say hello', tree])
  await git(['-C', draft, 'update-ref', 'refs/heads/main', commit])
  await rename(draft, path)
  return url
}

function storeObject(repository: string, content: string): Promise<string> {
  return git(['-C', repository, 'hash-object', '-w', '--stdin'], content)
}

async function git(args: string[], input = ''): Promise<string> {
  const run = promisify(execFile)('git', args, { env: GIT_ENVIRONMENT })
  // When git ends without reading its input, its exit code matters, not the broken pipe.
  run.child.stdin?.on('error', () => {}).end(input)
  return (await run).stdout.trim()
}

/** Without the settings and the name of the user who starts Gantry. */
const GIT_ENVIRONMENT = {
  PATH: process.env.PATH,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Gantry',
  GIT_AUTHOR_EMAIL: 'gantry@localhost',
  GIT_COMMITTER_NAME: 'Gantry',
  GIT_COMMITTER_EMAIL: 'gantry@localhost',
}

async function hasGit(): Promise<boolean> {
  return git(['--version']).then(
    () => true,
    () => false,
  )
}
