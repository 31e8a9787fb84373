import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Removes folders of this account that were left by killed processes, or that nothing has used for a while. */
export async function removeStale(
  parent: string,
  { prefix = '', olderThanMs }: { prefix?: string; olderThanMs: number },
): Promise<void> {
  const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(prefix))
  for (const path of names.map((name) => join(parent, name))) {
    const state = await lstat(path).catch(() => undefined)
    if (state?.uid !== process.getuid?.() || Date.now() - state!.mtimeMs < olderThanMs) continue
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}
