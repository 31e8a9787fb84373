import { execFile } from 'node:child_process'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
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
 * A bare repository with one commit, under GANTRY_HOME; its address is returned. Made beside its place
 * and renamed, so that a killed first start leaves nothing half-made. A machine without git gets the
 * address only: deploys will say that the repository is not there.
 */
export async function createSampleRepository(home: string): Promise<string> {
  const place = join(home, 'repositories', 'sample', 'hello-gantry.git')
  const address = pathToFileURL(place).href
  if ((await exists(place)) || !(await hasGit())) return address
  const draft = `${place}.draft`
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
  await rename(draft, place)
  return address
}

function storeObject(repository: string, content: string): Promise<string> {
  return git(['-C', repository, 'hash-object', '-w', '--stdin'], content)
}

async function git(args: string[], input = ''): Promise<string> {
  const run = promisify(execFile)('git', args, { env: GIT_ENVIRONMENT })
  // A git that ends without reading is heard of through its exit code, not through a broken pipe.
  run.child.stdin?.on('error', () => {}).end(input)
  return (await run).stdout.trim()
}

/** Nothing of the person who starts Gantry: not their settings, not their name. */
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

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
