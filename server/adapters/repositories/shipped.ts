import { isShallow } from './compare.ts'
import { type Repo, readGit, runGit } from './git.ts'

// What an approval of a deploy is about: who wrote the commits that it ships, and whether it would ship or undo more than was
// shown. Hashes are full.

/** Beyond this, an email address is cut, and more of them are left out. */
const MAX_EMAIL = 320
const MAX_EMAILS = 50_000

/** Lower case. `live`: null when nothing is, and everything ships. */
export async function listAuthors(
  repo: Repo,
  { live, to }: { live: string | null; to: string },
): Promise<string[] | undefined> {
  const emails = new Set<string>()
  const args = ['log', '--no-mailmap', '--no-show-signature', '--no-decorate', '--format=tformat:%ae%n%ce']
  let rest = ''
  const add = (line: string) => {
    if (line !== '' && emails.size < MAX_EMAILS) emails.add(line.toLowerCase().slice(0, MAX_EMAIL))
  }
  const { code } = await runGit({ ...repo, args: [...args, to, ...without(live), '--'] }, async (output) => {
    for await (const chunk of output) {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop()!.slice(0, MAX_EMAIL)
      lines.forEach(add)
    }
  })
  add(rest)
  return code === 0 ? [...emails] : undefined
}

/**
 * Whether a deploy of `to` onto `live` ships a commit, or undoes one, that a deploy onto `shown` would not. Null: nothing is
 * live. Undefined when that cannot be found out.
 */
export async function shipsMore(
  repo: Repo,
  { shown, live, to }: { shown: string | null; live: string | null; to: string },
): Promise<boolean | undefined> {
  if (shown === live) return false
  // Everything ships.
  if (live === null) return true
  if (await isShallow(repo)) return undefined
  const undone = await count(repo, [live, `^${to}`, ...without(shown)])
  const ships = await count(repo, [to, `^${live}`])
  const wasShown = shown === null ? ships : await count(repo, [to, `^${live}`, `^${shown}`])
  if (undone === undefined || ships === undefined || wasShown === undefined) return undefined
  return undone > 0 || wasShown < ships
}

const without = (hash: string | null) => (hash === null ? [] : [`^${hash}`])

async function count(repo: Repo, range: string[]): Promise<number | undefined> {
  const { code, output } = await readGit({ ...repo, args: ['rev-list', '--count', ...range, '--'] })
  return code === 0 && /^\d+\n$/.test(output) ? Number(output) : undefined
}

const PINS = 'refs/gantry/runs/'

/** Keeps a commit in the mirror for these runs, wherever its branch goes: fetches prune branches and tags only. */
export async function pinCommit(repo: Repo, actionIds: readonly number[], hash: string): Promise<boolean> {
  const input = actionIds.map((id) => `update ${PINS}${id} ${hash}\n`).join('')
  const { code } = await readGit({ ...repo, args: ['update-ref', '--stdin'], input })
  return code === 0
}

/** The runs whose commits are kept. */
export async function listPins(repo: Repo): Promise<number[]> {
  const args = ['for-each-ref', '--format=%(refname)', PINS]
  const { output } = await readGit({ ...repo, args })
  return output.split('\n').flatMap((line) => {
    const id = Number(line.slice(PINS.length))
    return line.startsWith(PINS) && Number.isSafeInteger(id) && id > 0 ? id : []
  })
}

export async function removePins(repo: Repo, actionIds: readonly number[]): Promise<void> {
  const input = actionIds.map((id) => `delete ${PINS}${id}\n`).join('')
  if (input !== '') await readGit({ ...repo, args: ['update-ref', '--stdin'], input })
}
