import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes folders that were left by killed processes, or that nothing has used for a while. `isShared`: the folders of other
 * accounts there are not ours.
 */
export async function removeStale(
  parent: string,
  {
    prefix = '',
    olderThanMs,
    isShared = false,
  }: { prefix?: string; olderThanMs: number; isShared?: boolean },
): Promise<void> {
  const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(prefix))
  for (const path of names.map((name) => join(parent, name))) {
    const state = await lstat(path).catch(() => undefined)
    if (!state || Date.now() - state.mtimeMs < olderThanMs) continue
    if (isShared && state.uid !== process.getuid?.()) continue
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}
