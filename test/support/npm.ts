// The npm that runs the tests, on the Node that it runs on.
import { execFile } from 'node:child_process'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { USERS_NODE } from './cli.ts'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const NPM = process.env.npm_execpath ? [USERS_NODE, process.env.npm_execpath] : ['npm']

export async function npm(args: string[], cwd = CHECKOUT): Promise<string> {
  const [program, ...first] = NPM
  return (await promisify(execFile)(program!, [...first, ...args], { cwd })).stdout
}

/** Packs a workspace, or the whole as a release, as it would be published. */
export async function pack(
  workspace: string | null,
  folder: string,
): Promise<{ tarball: string; files: string[] }> {
  const which = workspace === null ? [] : [`--workspace=${workspace}`]
  const stdout = await npm(['pack', ...which, `--pack-destination=${folder}`, '--json'])
  // What `prepack` prints comes first.
  const [{ filename, files }] = JSON.parse(stdout.slice(`\n${stdout}`.lastIndexOf('\n[\n')))
  return { tarball: join(folder, basename(filename)), files: files.map(({ path }: { path: string }) => path) }
}
